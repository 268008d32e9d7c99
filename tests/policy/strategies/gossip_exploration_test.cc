// Every order of steps, messages and faults of a few gossip nodes with one number each as the
// model: the sum of the models is kept, and every exchange ends.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/sanitized.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "evener/core/error.h"
#include "evener/policy/gossip_node.h"
#include "evener/policy/policy.h"

namespace evener {
namespace {

struct ExploredGossip {
  int nodes = 2;
  int steps = 1;  // of each node
  int losses = 0, repeats = 0, cuts = 0;
  bool push_sum = false;
  double overlap = 4;
};

/// The nodes and the messages between them. A copy is an independent world.
class GossipWorld {
 public:
  explicit GossipWorld(const ExploredGossip& left) : left_(left) {
    GossipRule rule;
    rule.peers = PeerChoice::shift;
    rule.push_sum = left.push_sum;
    rule.overlap = left.overlap;
    for (int i = 0; i < left.nodes; ++i) {
      nodes_.emplace_back(i, rule, 1);
      for (int j = 0; j < left.nodes; ++j) nodes_.back().connected(j);
      models_.push_back(std::exp2(i));
      weights_.push_back(1);
      steps_.push_back(left.steps);
    }
    sum_ = sum();
  }

  /// The worlds after each thing that can happen next.
  std::vector<GossipWorld> next() const {
    std::vector<GossipWorld> worlds;
    const auto add = [&](auto change) {
      worlds.push_back(*this);
      change(worlds.back());
      worlds.back().check();
    };
    for (int i = 0; i < left_.nodes; ++i) {
      if (steps_[at(i)] > 0 && node(i).may_train()) add([&](GossipWorld& w) { w.train(i); });
      if (reminds(i)) add([&](GossipWorld& w) { w.remind(i); });
    }
    for (std::size_t m = 0; m < messages_.size(); ++m) {
      const GossipMessage& message = messages_[m];
      if (m > 0 && messages_[m - 1] == message) continue;
      if (left_.losses > 0) add([&](GossipWorld& w) { w.lose(m); });
      if (left_.repeats > 0) add([&](GossipWorld& w) { w.repeat(m); });
      if (is_cut(message.from, message.to)) continue;
      // A node that can train may read the message after its next step.
      add([&](GossipWorld& w) { w.deliver(m, true); });
      if (steps_[at(message.to)] > 0 && node(message.to).may_train()) {
        add([&](GossipWorld& w) { w.deliver(m, false); });
      }
    }
    for (const Pair& pair : cut_) add([&](GossipWorld& w) { w.heal(pair); });
    for (int i = 0; left_.cuts > 0 && i < left_.nodes; ++i) {
      for (int j = 0; j < i; ++j) {
        if (is_cut(i, j)) continue;
        for (const auto& [i_sees, j_sees] : {Pair{1, 1}, Pair{1, 0}, Pair{0, 1}}) {
          add([&](GossipWorld& w) { w.cut({j, i}, j_sees != 0, i_sees != 0); });
        }
      }
    }
    return worlds;
  }
  /// Nothing can happen any more: every exchange must have ended.
  void check_end() const {
    for (int i = 0; i < left_.nodes; ++i) {
      if (steps_[at(i)] > 0) throw Error(fmt::format("node {} may not train", i));
      if (node(i).waits()) throw Error(fmt::format("node {} waits forever", i));
    }
    if (!to_complete_.empty() || !given_.empty()) throw Error("an exchange is incomplete");
  }

 private:
  using Pair = std::pair<int, int>;  // from, to
  struct Value {
    double model, weight;
  };
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  GossipNode& node(int i) { return nodes_[at(i)]; }
  const GossipNode& node(int i) const { return nodes_[at(i)]; }
  bool is_cut(int i, int j) const { return cut_.contains(std::minmax(i, j)); }

  double sum() const {
    double sum = 0;
    for (std::size_t i = 0; i < models_.size(); ++i) sum += weights_[i] * models_[i];
    for (const auto& [pair, move] : to_complete_) sum += move;
    for (const auto& [pair, value] : given_) sum += value.weight * value.model;
    return sum;
  }
  void check() const {
    if (std::abs(sum() - sum_) > 1e-9) throw Error(fmt::format("the sum is {}", sum()));
  }

  void train(int i) {
    --steps_[at(i)];
    node(i).step(1);
    act(i, true);
  }
  /// The timeout of an offer: no message of the exchange is under way, and none is unread.
  bool reminds(int i) const {
    const auto offer = node(i).remind();
    if (!offer || is_cut(i, offer->to) || unread_.contains(offer->to)) return false;
    return std::none_of(messages_.begin(), messages_.end(), [&](const GossipMessage& message) {
      return std::minmax(message.from, message.to) == std::minmax(i, offer->to);
    });
  }
  void remind(int i) {
    const auto offer = node(i).remind();
    send({GossipMessage::Kind::offer, i, offer->to, offer->sequence});
  }
  void lose(std::size_t m) {
    --left_.losses;
    messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(m));
  }
  void repeat(std::size_t m) {
    --left_.repeats;
    messages_.insert(messages_.begin() + static_cast<std::ptrdiff_t>(m),
                     GossipMessage(messages_[m]));
  }
  void deliver(std::size_t m, bool acts) {
    const GossipMessage message = messages_[m];
    messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(m));
    node(message.to).connected(message.from);  // a message shows that its sender is connected
    node(message.to).receive(message);
    if (acts) {
      act(message.to, false);
    } else {
      unread_.insert(message.to);
    }
  }
  void cut(const Pair& pair, bool first_sees, bool second_sees) {
    --left_.cuts;
    cut_.insert(pair);
    if (first_sees) node(pair.first).disconnected(pair.second);
    if (second_sees) node(pair.second).disconnected(pair.first);
  }
  void heal(const Pair& pair) {
    cut_.erase(pair);
    node(pair.first).connected(pair.second);
    node(pair.second).connected(pair.first);
    act(pair.first, false);
    act(pair.second, false);
  }

  void send(const GossipMessage& message) {
    const auto before = [](const GossipMessage& a, const GossipMessage& b) {
      return std::tie(a.kind, a.from, a.to, a.sequence) <
             std::tie(b.kind, b.from, b.to, b.sequence);
    };
    messages_.insert(std::upper_bound(messages_.begin(), messages_.end(), message, before),
                     message);
  }
  void act(int i, bool offers) {
    double& model = models_[at(i)];
    double& weight = weights_[at(i)];
    unread_.erase(i);
    for (const auto& action : node(i).actions(0, offers)) {
      dispatch(
          action,
          [&](const NodeOffers& a) {
            if (!a.again && left_.push_sum) weight /= 2;
            if (!a.again) offered_[{i, a.to}] = {model, weight};
            if (!a.again && left_.push_sum) given_[{i, a.to}] = {model, weight};
            send({GossipMessage::Kind::offer, i, a.to, a.sequence});
          },
          [&](const NodeAnswers& a) {
            if (!a.again) answer(i, a.to);
            send({GossipMessage::Kind::reply, i, a.to, a.sequence});
          },
          [&](const NodeDeclines& a) {
            send({GossipMessage::Kind::decline, i, a.to, a.sequence});
          },
          [&](const NodeCompletes& a) {
            if (left_.push_sum) return;
            model += (answers_.at({a.from, i}) - offered_.at({i, a.from}).model) / 2;
            to_complete_.erase({i, a.from});
          });
    }
  }
  void answer(int i, int to) {
    double& model = models_[at(i)];
    const Value theirs = offered_.at({to, i});
    if (left_.push_sum) {
      given_.erase({to, i});
      const double sum = weights_[at(i)] + theirs.weight;
      model += theirs.weight / sum * (theirs.model - model);
      weights_[at(i)] = sum;
      return;
    }
    answers_[{i, to}] = model;
    to_complete_[{to, i}] = (model - theirs.model) / 2;
    model += (theirs.model - model) / 2;
  }

  ExploredGossip left_;  // what may still happen
  std::vector<GossipNode> nodes_;
  std::vector<double> models_, weights_;
  std::vector<int> steps_;                 // that each node has left
  double sum_ = 0;                         // at the start
  std::map<Pair, Value> offered_, given_;  // given: by push-sum, and not received yet
  std::map<Pair, double> answers_;
  std::map<Pair, double> to_complete_;  // the move of a node whose offer was answered
  std::set<Pair> cut_;
  std::set<int> unread_;                 // nodes that have received a message and not acted since
  std::vector<GossipMessage> messages_;  // sorted, so that equal ones are neighbours
};

struct ExploredCounts {
  std::size_t states = 0, ends = 0;
};

void explore_from(const GossipWorld& world, ExploredCounts& counts, int depth) {
  if (depth > 200) throw Error("the run does not end");
  ++counts.states;
  const auto worlds = world.next();
  if (worlds.empty()) {
    ++counts.ends;
    world.check_end();
  }
  for (const auto& next : worlds) explore_from(next, counts, depth + 1);
}

class GossipExplorationTest : public testing::Test {
 protected:
  static void explore(const ExploredGossip& scenario) {
    ExploredCounts counts;
    EXPECT_NO_THROW(explore_from(GossipWorld(scenario), counts, 0));
    fmt::print("{} nodes, {} steps, {} losses, {} repeats, {} cuts: {} states, {} ends\n",
               scenario.nodes, scenario.steps, scenario.losses, scenario.repeats, scenario.cuts,
               counts.states, counts.ends);
    std::fflush(stdout);
  }
};

// Sanitized builds explore a part: they are slower by an order of magnitude.
constexpr int kMostSteps = kSanitized ? 1 : 2;

TEST_F(GossipExplorationTest, TwoNodesWithLosses) {
  for (const bool push_sum : {false, true}) {
    for (const double overlap : {0.0, 1.0}) {
      explore({.steps = kMostSteps, .losses = 1, .push_sum = push_sum, .overlap = overlap});
    }
  }
}

TEST_F(GossipExplorationTest, TwoNodesWithRepeats) {
  explore({.steps = kMostSteps, .repeats = 1, .overlap = 0});
  explore({.steps = 1, .repeats = 2, .push_sum = true});
}

TEST_F(GossipExplorationTest, TwoNodesWithAPartition) {
  for (const bool push_sum : {false, true}) {
    explore({.steps = 1, .losses = 1, .cuts = 1, .push_sum = push_sum});
  }
}

TEST_F(GossipExplorationTest, ALossARepeatAndAPartition) {
  explore({.steps = 1, .losses = 1, .repeats = kSanitized ? 0 : 1, .cuts = 1});
}

TEST_F(GossipExplorationTest, ThreeNodes) {
  explore({.nodes = 3, .steps = 1, .overlap = 0});
  explore({.nodes = 3, .steps = 1, .losses = kSanitized ? 0 : 1, .overlap = 0});
}

}  // namespace
}  // namespace evener
