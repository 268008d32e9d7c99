#include "evener/cluster/gossip/gossip_peer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "evener/cluster/gossip/data_shard.h"
#include "evener/cluster/gossip/peer_group.h"

namespace evener {

namespace {

using Wire = wire::GossipMessage;

constexpr Seconds kLinger = 0.5;     // after the end
constexpr Seconds kUnexplained = 2;  // of waiting at the start
// A peer that has missed more steps of another one joined late and fetches a model first.
constexpr std::uint64_t kMissedSteps = 10;
constexpr Seconds kMoment = 1;

/// The mean of the last models that are there, by their weights, into a vector of zeros; how many.
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

class GossipPeerImpl : public GossipPeer {
 public:
  GossipPeerImpl(const GossipPeerOptions& options, const GossipWork& work, PeerReplica& replica)
      : options_(options),
        work_(work),
        replica_(replica),
        node_(options.self, options.rule, work.seed),
        map_(work.network),
        own_steps_(work.steps.empty() ? 0 : work.steps.at(static_cast<std::size_t>(options.self))),
        rows_(work, static_cast<std::size_t>(options.self), options.addresses.size(), own_steps_),
        group_(options, work, map_, result_.steps,
               {[this](int peer) { node_.meet(peer); },
                [this](int peer, bool for_good) { lose(peer, for_good); },
                [this](PeerEvent& event, PeerState& other) { take_letter(event, other); }}) {
    result_.steps = work.steps;
    result_.steps.resize(options.addresses.size());
    std::vector<std::string> names;
    for (std::size_t i = 0; i < result_.steps.size(); ++i)
      names.push_back(fmt::format("peer {}", i));
    result_.timeline = Timeline(std::move(names));
  }

  void join() override {
    replica_.start_from(work_.start);
    if (work_.memory) replica_.remember(*work_.memory);
    gather();
    if (is_late()) fetch_model();
  }

  void train(const std::function<bool()>& after_step) override {
    // Between two calls the caller was at work, in an evaluation or a checkpoint.
    if (paused_at_ > 0) group_.was_busy(now() - paused_at_);
    bool goes_on = true;
    while (goes_on && !is_over()) {
      hear(0);
      rest(true);
      const auto offer = node_.remind();
      // Not for one whose process has ended: it would be ten seconds until it is given up.
      if (!node_.may_train() && offer && !at(offer->to).broken) {
        hear(kHeartbeat);
      } else {
        goes_on = step(after_step);
      }
    }
    paused_at_ = now();
  }

  void leave(const std::string& why) override {
    closing_ = true;
    group_.leave(why);
    linger();
  }

  GossipResult& result() override { return result_; }

  /// Its own exchange is completed, then all peers send each other their last models, and all
  /// have the same mean.
  void finish() override {
    while (node_.waits() && signal() == 0) {
      hear(kHeartbeat / 5);
      rest(false);
    }
    rest(false);
    closing_ = true;
    const ModelUpdate mine = replica_.whole();
    result_.model = FloatBuffer(map_.size());
    // Somebody's last model is missing here; somebody has not got all of them.
    const auto missing = [](const PeerState& other) { return other.greeted && !other.final_model; };
    const auto lacking = [](const PeerState& other) {
      return other.greeted && !other.peer_heartbeat.has_all();
    };
    const auto anybody = [&](auto is) {
      return std::any_of(group_.others().begin(), group_.others().end(), is);
    };
    for (result_.signal = signal(); result_.signal == 0; result_.signal = signal()) {
      tell_final(mine);
      hear(kHeartbeat / 5);
      if (anybody(missing)) continue;
      group_.has_all();
      if (!anybody(lacking)) break;
    }
    const bool leaves = result_.signal != 0;
    for (int i = 0; i < group_.count(); ++i) {
      // Where all are told to go nobody is lost.
      const bool there = at(i).greeted || at(i).final_model || (leaves && at(i).left);
      result_.lost.push_back(i != options_.self && !there);
    }
    if (leaves) {
      group_.leave("it was told to go");
      for (auto& other : group_.others()) other.final_model.reset();  // its own alone
    }
    at(options_.self).final_model = mine;
    result_.models = mean_of_finals(group_.others(), result_.model.span());
    linger();
  }

 private:
  PeerState& at(int peer) { return group_.at(peer); }
  Seconds now() const { return group_.now(); }
  void hear(Seconds wait) { group_.hear(wait); }
  int signal() const { return options_.interrupted ? options_.interrupted() : 0; }
  /// Whether one that is there has trained more than so much since it was started.
  bool has_begun(std::uint64_t steps, Seconds seconds) {
    return std::any_of(group_.others().begin(), group_.others().end(), [&](const PeerState& other) {
      const wire::PeerHeartbeat& peer_heartbeat = other.peer_heartbeat;
      return other.greeted && peer_heartbeat.trained() > steps &&
             peer_heartbeat.training() > seconds;
    });
  }
  bool is_late() { return has_begun(kMissedSteps, work_.memory ? kMoment : 0); }
  double epochs_done() const { return evener::epochs_done(work_, result_.steps); }
  bool is_over() {
    if (result_.signal == 0) result_.signal = signal();
    return result_.signal != 0 || epochs_done() >= work_.epochs;
  }

  /// Until all are there and see each other, or for as long as patience lasts. Who has begun is not
  /// kept waiting.
  void gather() {
    bool told = std::isinf(options_.patience);
    while (!group_.complete() && !has_begun(0, 0) && signal() == 0) {
      hear(kHeartbeat);
      if (!told && now() > kUnexplained) {
        told = true;
        options_.say(
            fmt::format("{} of {} peers are there: waiting for the others, for {:g} s at most",
                        group_.greeted() + 1, group_.count(), options_.patience));
      }
      if (now() < options_.patience) continue;
      if (group_.greeted() == 0) {
        throw Error(
            fmt::format("no peer for {:g} s: start the others of --peers, or wait longer "
                        "with --wait-seconds ({})",
                        options_.patience, group_.why_alone()));
      }
      options_.say(fmt::format("{} of {} peers are there: beginning without the others",
                               group_.greeted() + 1, group_.count()));
      return;
    }
  }

  /// The run has begun without it: it goes on from another's model.
  void fetch_model() {
    for (int turn = 1; turn < group_.count(); ++turn) {
      const int peer = (options_.self + turn) % group_.count();
      for (bool asks = true; at(peer).greeted && !at(peer).asked && signal() == 0;) {
        if (at(peer).channel && std::exchange(asks, false)) send(peer, Wire::ASK, 0, {});
        hear(kHeartbeat / 5);
        if (std::exchange(at(peer).cut, false)) asks = true;
      }
      const auto model = std::exchange(at(peer).asked, std::nullopt);
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
    const double loss = replica_.train(task) / static_cast<double>(rows.size());
    if (!std::isfinite(loss)) throw Error("the loss is not finite: try a lower --learning-rate");
    ++steps;
    group_.has_trained();
    constexpr double kNewest = 0.05;
    result_.loss = result_.training == 0 ? loss : std::lerp(result_.loss, loss, kNewest);
    const Seconds end = now();
    result_.training += end - begin;
    result_.timeline.add_task(task, {begin, end - begin, 0, end, 0}, 0);
    node_.step(replica_.change());
    const bool goes_on = after_step();
    group_.was_busy(now() - begin);
    return goes_on;
  }

  void rest(bool offers) {
    for (const NodeAction& action : node_.rest(now(), offers)) {
      std::visit(
          Cases{[&](const NodeOffers& a) {
                  if (!a.again) offered_[a.to] = replica_.offer();
                  send(a.to, Wire::OFFER, a.sequence, offered_[a.to]);
                  at(a.to).cut = !at(a.to).channel;
                },
                [&](const NodeAnswers& a) {
                  PeerState& other = at(a.to);
                  if (!a.again) {
                    exchange([&] { other.answered = replica_.answer(other.offer); });
                    other.answered_sequence = a.sequence;
                  }
                  other.offer = {};
                  send(a.to, Wire::REPLY, a.sequence, other.answered);
                },
                [&](const NodeDeclines& a) { send(a.to, Wire::DECLINE, a.sequence, {}); },
                [&](const NodeCompletes& a) {
                  exchange([&] { replica_.complete_exchange(offered_[a.from], at(a.from).reply); });
                  offered_.erase(a.from);
                  at(a.from).reply = {};
                }},
          action);
    }
    // Messages are lost only with a connection.
    const auto again = node_.remind();
    if (again && at(again->to).channel && std::exchange(at(again->to).cut, false)) {
      send(again->to, Wire::OFFER, again->sequence, offered_[again->to]);
    }
  }

  void lose(int peer, bool for_good) {
    if (!for_good) return node_.part(peer);
    node_.forget(peer);
    take_back(peer);
  }
  /// What was offered and will not be taken. Of push-sum it was given away: it is this one's again.
  void take_back(int peer) {
    const auto offered = offered_.find(peer);
    if (offered == offered_.end()) return;
    if (options_.rule.push_sum && !closing_) replica_.answer(offered->second);
    offered_.erase(offered);
  }

  template <class F>
  void exchange(F work) {
    const Seconds begin = now();
    work();
    result_.timeline.add_merge(begin, now());
    result_.timeline.add_completed_exchange(options_.self);
    ++result_.exchanges;
    if (const auto apart = replica_.apart()) {
      ++result_.met;
      result_.apart += *apart * *apart;
    }
  }

  void send(int peer, Wire::Kind kind, std::uint64_t sequence, const ModelUpdate& update) {
    const auto& channel = at(peer).channel;
    if (!channel) return;  // lost: a reminder will follow
    wire::Head head;
    wire::GossipMessage& message = *head.mutable_gossip_message();
    message.set_kind(kind);
    message.set_sequence(sequence);
    message.set_weight(update.weight);
    for (const std::uint64_t steps : result_.steps) message.add_steps(steps);
    set_header(update, *message.mutable_update());
    auto bytes = std::make_shared<std::vector<std::byte>>();
    write_update(update, *bytes);
    channel->send(message_of(head));
    for (auto& chunk : chunks_of(bytes, sequence)) channel->send(std::move(chunk));
    result_.sent += bytes->size();
    if (!bytes->empty()) result_.whole += map_.size() * sizeof(float);
    result_.timeline.add_message(options_.self, bytes->size());
  }

  void take_letter(PeerEvent& event, PeerState& other) {
    const std::uint64_t sequence = event.message.sequence();
    result_.received += event.update.bytes();
    result_.timeline.add_message(options_.self, event.update.bytes());
    if (event.why.empty()) event.why = why_useless(event, map_, options_.rule.push_sum);
    if (!event.why.empty()) {
      ++result_.refused;
      if (event.message.kind() == Wire::OFFER) send(event.from, Wire::DECLINE, sequence, {});
      event.update = {};  // nobody waits for another
      if (event.message.kind() == Wire::OFFER) return;
      if (event.message.kind() == Wire::REPLY) event.message.set_kind(Wire::DECLINE);
    }
    const auto tell = [&](GossipMessage::Kind kind) {
      node_.receive({kind, event.from, options_.self, sequence});
    };
    switch (event.message.kind()) {
      case Wire::OFFER:
        if (closing_ && sequence == other.answered_sequence) {
          return send(event.from, Wire::REPLY, sequence, other.answered);
        }
        if (closing_) return send(event.from, Wire::DECLINE, sequence, {});
        if (sequence < other.offer_sequence) return;  // of long ago
        other.offer = std::move(event.update);
        other.offer_sequence = sequence;
        return tell(GossipMessage::Kind::offer);
      case Wire::REPLY:
        if (!node_.awaits(event.from, sequence)) return;
        if (!options_.rule.push_sum &&
            event.update.values.size() != offered_[event.from].values.size()) {
          return;
        }
        other.reply = std::move(event.update);
        return tell(GossipMessage::Kind::reply);
      case Wire::DECLINE:
        ++result_.declined;
        result_.timeline.add_reject(options_.self);
        if (node_.awaits(event.from, sequence)) take_back(event.from);
        return tell(GossipMessage::Kind::decline);
      case Wire::ASK:
        return send(event.from, Wire::MODEL, sequence, replica_.whole());
      case Wire::MODEL:
        other.asked = std::move(event.update);
        return;
      case Wire::FINAL:
        other.final_model = std::move(event.update);
        return;
      default:
        return;
    }
  }

  /// What was sent last arrives before the connections go.
  void linger() {
    const bool alone = group_.greeted() == 0;
    for (const Seconds since = now(); !alone && now() - since < kLinger;) hear(kHeartbeat / 5);
  }
  /// Once over each connection.
  void tell_final(const ModelUpdate& mine) {
    for (int i = 0; i < group_.count(); ++i) {
      if (at(i).channel && !std::exchange(at(i).told, true)) send(i, Wire::FINAL, 0, mine);
    }
  }

  const GossipPeerOptions& options_;
  const GossipWork& work_;
  PeerReplica& replica_;
  GossipNode node_;
  ModelUpdateLayout map_;
  GossipResult result_;
  std::map<int, ModelUpdate> offered_;  // by peer: until it answers, or is gone for good
  bool closing_ = false;
  Seconds paused_at_ = 0;  // when `train` returned last; 0: never
  std::uint64_t own_steps_;
  DataShard rows_;
  PeerGroup group_;  // last: its conversations use all of the above
};

}  // namespace

std::uint64_t rows_trained(const GossipWork& work, std::size_t rank, std::size_t peers,
                           std::uint64_t steps) {
  const std::size_t share = share_of(work.rows.size(), rank, peers);
  const std::uint64_t a_pass = steps_of_pass(share, work.batch);
  return steps / a_pass * share + std::min<std::uint64_t>(share, steps % a_pass * work.batch);
}

double epochs_done(const GossipWork& work, const std::vector<std::uint64_t>& steps) {
  std::uint64_t rows = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    rows += rows_trained(work, i, steps.size(), steps[i]);
  }
  return static_cast<double>(rows) / static_cast<double>(work.rows.size());
}

std::unique_ptr<GossipPeer> make_gossip_peer(const GossipPeerOptions& options,
                                             const GossipWork& work, PeerReplica& replica) {
  return std::make_unique<GossipPeerImpl>(options, work, replica);
}

}  // namespace evener
