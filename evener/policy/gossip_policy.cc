#include "evener/policy/gossip_policy.h"

#include <deque>

#include "evener/policy/gossip_node.h"
#include "evener/policy/worker_set.h"

namespace evener {

namespace {

class Gossip final : public Policy {
 public:
  Gossip(const GossipRule& rule, const PolicyConfig& config)
      : rule_(rule), rows_(config.shared_batch()), seed_(config.seed), config_(config) {}

  Decisions on(const Event& event) override {
    decisions_.clear();
    dispatch(
        event, [&](const Joined& e) { join(e); }, [&](const Lost& e) { lose(e); },
        [&](const EpochBegan& e) {
          running_ = true;
          out_of_rows_ = false;
          rest_all(e.now);
        },
        [&](const Finished& e) {
          workers_.at(e.worker).busy = false;
          node(e.worker).step(e.change);
          act(e.worker, e.now);
        },
        [&](const Delivered& e) {
          node(e.message.to).receive(e.message);
          if (!workers_.at(e.message.to).busy) act(e.message.to, e.now);
        },
        [&](const OutOfRows& e) {
          workers_.at(e.worker).busy = false;
          out_of_rows_ = true;
        },
        [&](const EpochEnded&) {
          running_ = false;
          decisions_.emplace_back(Average{});
        },
        Ignore<Suspected, InvalidPush, Measured, Merged, TimerFired>{});
    return decisions_;
  }

  std::vector<std::string> standings() const override {
    std::vector<std::string> texts;
    for (const auto& node : nodes_) texts.emplace_back(node.waits() ? "offering" : "training");
    return texts;
  }

 private:
  GossipNode& node(int worker) { return nodes_[static_cast<std::size_t>(worker)]; }

  void join(const Joined& event) {
    workers_.join(event);
    while (static_cast<int>(nodes_.size()) < workers_.size()) {
      nodes_.emplace_back(static_cast<int>(nodes_.size()), rule_, seed_);
    }
    for (const int other : workers_.present()) {
      node(event.worker).connected(other);
      node(other).connected(event.worker);
    }
    if (running_) act(event.worker, 0);
  }
  void lose(const Lost& event) {
    workers_.lose(event.worker);
    for (const int other : workers_.present()) node(other).forget(event.worker);
    nodes_[static_cast<std::size_t>(event.worker)] = GossipNode(event.worker, rule_, seed_);
    out_of_rows_ = false;  // its rows are back
    if (running_) rest_all(event.now);
  }
  void rest_all(Seconds now) {
    for (const int worker : workers_.idle_workers()) act(worker, now);
  }

  /// If no rows are left, it does only what other nodes wait for.
  void act(int worker, Seconds now) {
    const bool more = running_ && !out_of_rows_;
    for (const NodeAction& action : node(worker).actions(now, more)) {
      dispatch(
          action,
          [&](const NodeCompletes& a) {
            decisions_.emplace_back(CompleteExchange{worker, a.from, a.sequence});
          },
          [&](const NodeAnswers& a) {
            decisions_.emplace_back(Answer{worker, a.to, a.sequence});
          },
          [&](const NodeDeclines& a) {
            decisions_.emplace_back(Decline{worker, a.to, a.sequence});
          },
          [&](const NodeOffers& a) {
            decisions_.emplace_back(Offer{worker, a.to, a.sequence});
          });
    }
    if (more && node(worker).may_train()) {
      // The mean of all peers' steps is a step on all their rows.
      Assign assign = workers_.assign(worker, rows_, Work::local);
      assign.update_rows = config_.update_rows(static_cast<std::size_t>(config_.workers));
      decisions_.emplace_back(assign);
    }
  }

  GossipRule rule_;
  std::size_t rows_;
  std::uint64_t seed_;
  PolicyConfig config_;
  WorkerSet workers_;
  std::deque<GossipNode> nodes_;
  bool running_ = false;
  bool out_of_rows_ = false;  // the epoch has no rows left
  Decisions decisions_;
};

}  // namespace

std::unique_ptr<Policy> make_gossip_policy(const GossipRule& rule, const PolicyConfig& config) {
  return std::make_unique<Gossip>(rule, config);
}

}  // namespace evener
