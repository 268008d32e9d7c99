#include "evener/cluster/gossip/gossip_peer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "evener/cluster/gossip/data_shard.h"
#include "evener/cluster/gossip/peer_exchange.h"
#include "evener/runtime/plan.h"

namespace evener {

namespace {

using Wire = wire::GossipMessage;

constexpr Seconds kLinger = 0.5;     // after the end
constexpr Seconds kUnexplained = 2;  // of waiting at the start
// A peer that has missed more steps of another one joined late and fetches a model first.
constexpr std::uint64_t kMissedSteps = 10;
constexpr Seconds kMoment = 1;

/// Adds the weighted mean of the final models that have arrived to a vector of zeros. Returns how
/// many there are.
int mean_of_finals(const std::vector<PeerState>& others, std::span<float> mean) {
  double sum = 0;
  const auto usable = [](const PeerState& other) {
    return other.final_model && !other.final_model->values.empty();
  };
  for (const auto& other : others) sum += usable(other) ? other.final_model->weight : 0;
  int models = 0;
  for (const auto& other : others) {
    if (!usable(other)) continue;
    ++models;
    const auto share = static_cast<float>(other.final_model->weight / sum);
    for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += share * other.final_model->values[j];
  }
  return models;
}

class GossipPeerImpl final : public GossipPeer {
 public:
  GossipPeerImpl(const GossipPeerOptions& options, const GossipWork& work, PeerReplica& replica)
      : options_(with_transport(options)),
        work_(work),
        replica_(replica),
        layout_(work.network),
        exchange_(options_, work.seed, replica, layout_, result_, group_),
        own_steps_(work.steps.empty() ? 0 : work.steps.at(static_cast<std::size_t>(options.self))),
        rows_(work, static_cast<std::size_t>(options.self), options.addresses.size(), own_steps_),
        group_(options_, work, layout_, result_.steps,
               {[this](int peer) { exchange_.peer_joined(peer); },
                [this](int peer, bool for_good) { exchange_.peer_left(peer, for_good); },
                [this](PeerEvent& event, PeerState& other) {
                  exchange_.take_message(event, other);
                }}) {
    result_.steps = work.steps;
    result_.steps.resize(options.addresses.size());
    std::vector<std::string> names;
    for (std::size_t i = 0; i < result_.steps.size(); ++i)
      names.push_back(fmt::format("peer {}", i));
    result_.timeline = Timeline(std::move(names));
  }

  void join() override {
    replica_.start_from(work_.start);
    if (work_.replica_state) replica_.restore(*work_.replica_state);
    await_peers();
    if (is_late()) fetch_model();
  }

  void train(const std::function<bool()>& after_step) override {
    // Between two calls the caller evaluates the model or writes a checkpoint.
    if (paused_at_ > 0) group_.was_busy(now() - paused_at_);
    bool goes_on = true;
    while (goes_on && !is_over()) {
      if (handle_messages()) goes_on = step(after_step);
    }
    paused_at_ = now();
  }

  /// Completes its own exchange. Then all peers send each other their final models, and all compute
  /// the same mean.
  void finish() override {
    while (exchange_.waits() && signal() == 0) {
      poll(kHeartbeat / 5);
      exchange_.act(false);
    }
    exchange_.act(false);
    exchange_.close();
    const ModelUpdate mine = replica_.whole();
    result_.model = FloatBuffer(layout_.size());
    // `missing`: this peer lacks a final model. The other: a peer lacks one.
    const auto missing = [](const PeerState& other) { return other.joined && !other.final_model; };
    const auto lacking = [](const PeerState& other) {
      return other.joined && !other.peer_heartbeat.has_all();
    };
    const auto any_peer = [&](auto is) {
      return std::any_of(group_.others().begin(), group_.others().end(), is);
    };
    for (result_.signal = signal(); result_.signal == 0; result_.signal = signal()) {
      send_final(mine);
      poll(kHeartbeat / 5);
      if (any_peer(missing)) continue;
      group_.has_all();
      if (!any_peer(lacking)) break;
    }
    const bool leaves = result_.signal != 0;
    for (int i = 0; i < group_.count(); ++i) {
      // When all peers are stopped, none counts as lost.
      const bool finished = at(i).joined || at(i).final_model || (leaves && at(i).left);
      result_.lost.push_back(i != options_.self && !finished);
    }
    if (leaves) {
      group_.leave("it was stopped by a signal");
      for (auto& other : group_.others()) other.final_model.reset();  // the result is its own model
    }
    at(options_.self).final_model = mine;
    result_.models = mean_of_finals(group_.others(), result_.model.span());
    linger();
  }

  void leave(const std::string& why) override {
    exchange_.close();
    group_.leave(why);
    linger();
  }

  GossipResult& result() override { return result_; }

 private:
  PeerState& at(int peer) { return group_.at(peer); }
  Seconds now() const { return group_.now(); }
  void poll(Seconds wait) { group_.poll(wait); }
  int signal() const { return options_.interrupted ? options_.interrupted() : 0; }
  /// Whether a connected peer has trained more than this since it was started.
  bool has_begun(std::uint64_t steps, Seconds seconds) {
    return std::any_of(group_.others().begin(), group_.others().end(), [&](const PeerState& other) {
      const wire::PeerHeartbeat& peer_heartbeat = other.peer_heartbeat;
      return other.joined && peer_heartbeat.trained() > steps &&
             peer_heartbeat.training() > seconds;
    });
  }
  bool is_late() { return has_begun(kMissedSteps, work_.replica_state ? kMoment : 0); }
  double epochs_done() const { return evener::epochs_done(work_, result_.steps); }
  bool is_over() {
    if (result_.signal == 0) result_.signal = signal();
    return result_.signal != 0 || epochs_done() >= work_.epochs;
  }

  /// Waits until all peers are connected to each other, at most `patience`. Does not wait if a peer
  /// has started to train.
  void await_peers() {
    bool reported = std::isinf(options_.patience);
    while (!group_.complete() && !has_begun(0, 0) && signal() == 0) {
      poll(kHeartbeat);
      if (!reported && now() > kUnexplained) {
        reported = true;
        options_.say(
            fmt::format("{} of {} peers are there: waiting for the others, for {:g} s at most",
                        group_.joined() + 1, group_.count(), options_.patience));
      }
      if (now() < options_.patience) continue;
      if (group_.joined() == 0) {
        throw Error(
            fmt::format("no peer for {:g} s: {}{}", options_.patience, group_.why_alone(),
                        group_.cause_is_known()
                            ? ""
                            : "; start the others of --peers, or wait longer with --wait-seconds"));
      }
      options_.say(fmt::format("{} of {} peers are there: beginning without the others",
                               group_.joined() + 1, group_.count()));
      return;
    }
  }

  /// The run has begun without this peer: it starts from the model of another.
  void fetch_model() {
    for (int turn = 1; turn < group_.count(); ++turn) {
      const int peer = (options_.self + turn) % group_.count();
      for (bool asks = true; at(peer).joined && !at(peer).fetched_model && signal() == 0;) {
        if (at(peer).channel && std::exchange(asks, false)) exchange_.send(peer, Wire::ASK, 0, {});
        poll(kHeartbeat / 5);
        if (std::exchange(at(peer).cut, false)) asks = true;
      }
      const auto model = std::exchange(at(peer).fetched_model, std::nullopt);
      if (!model || model->values.empty()) continue;
      replica_.start_from(model->values);
      options_.say(fmt::format("joined late, with the model of peer {}", peer));
      return;
    }
    if (signal() == 0) throw Error("the run has begun, and no peer gives its model");
  }

  bool step(const std::function<bool()>& after_step) {
    const Seconds begin = now();
    const auto rows = rows_.next();
    const float learning_rate = learning_rate_at(work_.schedule, epochs_done());
    Task task;
    task.worker = options_.self;
    std::uint64_t& steps = result_.steps[static_cast<std::size_t>(options_.self)];
    task.parts.push_back({{rows, rows.size(), 0}, {++own_steps_, learning_rate}});
    const double loss = train(task) / static_cast<double>(rows.size());
    if (!std::isfinite(loss)) {
      throw DivergedError(fmt::format("the loss of step {} is not finite", own_steps_));
    }
    ++steps;
    group_.has_trained();
    constexpr double kNewest = 0.05;
    result_.loss = result_.training == 0 ? loss : std::lerp(result_.loss, loss, kNewest);
    const Seconds end = now();
    result_.training += end - begin;
    result_.timeline.add_task(task, {begin, end - begin, 0, end, 0}, 0);
    exchange_.trained(replica_.change());
    const bool goes_on = after_step();
    group_.was_busy(now() - begin);
    return goes_on;
  }

  /// Returns whether the next step may begin.
  bool handle_messages() {
    const MainSteps::Step counted(options_.main_steps.get());
    poll(0);
    exchange_.act(true);
    if (!exchange_.must_wait()) return true;
    poll(kHeartbeat);
    return false;
  }
  double train(const Task& task) {
    const MainSteps::Step counted(options_.main_steps.get());
    return replica_.train(task);
  }

  /// Lets the last messages arrive before the connections are closed.
  void linger() {
    const bool alone = group_.joined() == 0;
    for (const Seconds since = now(); !alone && now() - since < kLinger;) poll(kHeartbeat / 5);
  }
  /// Sends the final model once over each connection.
  void send_final(const ModelUpdate& mine) {
    for (int i = 0; i < group_.count(); ++i) {
      if (at(i).channel && !std::exchange(at(i).final_model_sent, true))
        exchange_.send(i, Wire::FINAL, 0, mine);
    }
  }

  GossipPeerOptions options_;
  const GossipWork& work_;
  PeerReplica& replica_;
  ModelUpdateLayout layout_;
  GossipResult result_;
  PeerExchange exchange_;
  Seconds paused_at_ = 0;  // when `train` returned last; 0: never
  std::uint64_t own_steps_;
  DataShard rows_;
  PeerGroup group_;  // last: its connections use all of the above
};

}  // namespace

std::unique_ptr<GossipPeer> make_gossip_peer(const GossipPeerOptions& options,
                                             const GossipWork& work, PeerReplica& replica) {
  return std::make_unique<GossipPeerImpl>(options, work, replica);
}

}  // namespace evener
