// Gossip nodes as state machines, with one number each as the model, and messages that are lost,
// late, repeated and out of order.
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <set>

#include "tests/policy/toy.h"
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "evener/policy/gossip_node.h"

namespace evener {
namespace {

using Actions = std::vector<NodeAction>;

GossipNode node_among(int self, int count, const GossipRule& rule) {
  GossipNode node(self, rule, 1);
  for (int i = 0; i < count; ++i) node.connected(i);
  return node;
}

TEST(GossipNode, OffersEveryPeriodSteps) {
  GossipRule rule;
  rule.period = 3;
  GossipNode node = node_among(0, 2, rule);
  EXPECT_TRUE(node.actions(0).empty()) << "nothing is trained yet";
  for (int step = 1; step <= 2; ++step) {
    node.step(1);
    EXPECT_TRUE(node.actions(0).empty());
  }
  node.step(1);
  EXPECT_EQ(node.actions(0), (Actions{NodeOffers{1, 1}}));
  EXPECT_TRUE(node.may_train()) << "it does not wait";
  node.step(1);
  EXPECT_TRUE(node.actions(0).empty()) << "one at a time";
  node.receive({GossipMessage::Kind::reply, 1, 0, 1});
  EXPECT_EQ(node.actions(0), (Actions{NodeCompletes{1, 1}}));
  for (int step = 1; step <= 2; ++step) {
    node.step(1);
    EXPECT_TRUE(node.actions(0).empty()) << "the exchange begins a new period";
  }
  node.step(1);
  EXPECT_EQ(node.actions(0), (Actions{NodeOffers{1, 2}}));
}

TEST(GossipNode, AdaptiveOffersWhenTheModelHasChanged) {
  GossipRule rule;
  rule.adaptive = true;
  rule.warmup = 0;
  rule.k_min = 2;
  rule.k_max = 5;
  struct Row {
    std::vector<double> changes;
    bool offers;
  };
  for (const auto& [changes, offers] : {Row{{1}, false},        // k_min
                                        {{0.01, 0.07}, false},  // under eps
                                        {{0.01, 0.09}, true},   // over it
                                        {{0.01, 0.01, 0.01, 0.01}, false},
                                        {{0, 0, 0, 0, 0}, true}}) {  // k_max
    GossipNode node = node_among(0, 2, rule);
    bool offered = false;
    for (const double change : changes) {
      node.step(change);
      offered = !node.actions(0).empty();
    }
    EXPECT_EQ(offered, offers) << changes.size() << " steps, the last " << changes.back();
  }
  rule.warmup = 1;
  GossipNode node = node_among(0, 2, rule);
  node.step(0);
  EXPECT_EQ(node.actions(0).size(), 1U) << "warm-up";
}

TEST(GossipNode, WaitsForTheAnswerIfItMust) {
  GossipRule rule;
  rule.overlap = 0;
  rule.period = 2;
  GossipNode node = node_among(0, 2, rule);
  node.step(1);
  node.step(1);
  EXPECT_EQ(node.actions(0), (Actions{NodeOffers{1, 1}}));
  EXPECT_FALSE(node.may_train());
  node.receive({GossipMessage::Kind::decline, 1, 0, 1});
  EXPECT_TRUE(node.may_train());
  node.step(1);
  EXPECT_EQ(node.actions(0), (Actions{NodeOffers{1, 2}})) << "what was declined is no exchange";
}

TEST(GossipNode, TrainsOverlapStepsWhileItsOfferIsUnderWay) {
  constexpr int kMany = 1000;
  struct Row {
    double overlap;
    int steps;
  };
  for (const auto& [overlap, steps] :
       {Row{0, 0}, {0.5, 0}, {1, 1}, {4, 4}, {std::numeric_limits<double>::infinity(), kMany}}) {
    GossipRule rule;
    rule.overlap = overlap;
    GossipNode node = node_among(0, 2, rule);
    for (std::uint64_t offer = 1; offer <= 3; ++offer) {  // the count restarts with each
      node.step(1);
      ASSERT_EQ(node.actions(0), (Actions{NodeOffers{1, offer}}));
      int trained = 0;
      for (; trained < kMany && node.may_train(); ++trained) {
        node.step(1);
        EXPECT_TRUE(node.actions(0).empty());
      }
      EXPECT_EQ(trained, steps) << overlap;
      // It answers while it waits, and that is not what it waits for.
      node.receive({GossipMessage::Kind::offer, 1, 0, offer});
      node.actions(0);
      EXPECT_EQ(node.may_train(), steps == kMany) << overlap;
      node.receive({GossipMessage::Kind::reply, 1, 0, offer});
      EXPECT_EQ(node.actions(0), (Actions{NodeCompletes{1, offer}}));
      EXPECT_TRUE(node.may_train());
    }
  }
}

TEST(GossipNode, AnswersOneOfferBetweenTwoStepsAndOnce) {
  GossipNode node = node_among(0, 4, {});
  node.receive({GossipMessage::Kind::offer, 1, 0, 1});
  node.receive({GossipMessage::Kind::offer, 1, 0, 1});
  node.receive({GossipMessage::Kind::offer, 2, 0, 7});
  EXPECT_EQ(node.actions(0), (Actions{NodeAnswers{1, 1}, NodeDeclines{2, 7}}));
  node.receive({GossipMessage::Kind::offer, 1, 0, 1});  // the answer was lost
  node.receive({GossipMessage::Kind::offer, 2, 0, 7});  // and so was the refusal
  EXPECT_EQ(node.actions(0), (Actions{NodeAnswers{1, 1, true}, NodeDeclines{2, 7}}));
  node.receive({GossipMessage::Kind::offer, 2, 0, 8});
  EXPECT_EQ(node.actions(0), (Actions{NodeAnswers{2, 8}}));
  node.receive({GossipMessage::Kind::offer, 2, 0, 7});  // from long ago
  EXPECT_TRUE(node.actions(0).empty());
}

TEST(GossipNode, WhenTwoOfferToEachOtherTheLowerNumbersOfferIsUsed) {
  GossipNode low = node_among(0, 2, {}), high = node_among(1, 2, {});
  for (GossipNode* node : {&low, &high}) {
    node->step(1);
    EXPECT_EQ(node->actions(0).size(), 1U);
  }
  low.receive({GossipMessage::Kind::offer, 1, 0, 1});
  high.receive({GossipMessage::Kind::offer, 0, 1, 1});
  EXPECT_EQ(low.actions(0), (Actions{NodeDeclines{1, 1}}));
  EXPECT_EQ(high.actions(0), (Actions{NodeAnswers{0, 1}}));
}

TEST(GossipNode, ChoosesPeersByTheRule) {
  const auto chosen = [](PeerChoice peers, int self) {
    GossipRule rule;
    rule.peers = peers;
    GossipNode node = node_among(self, 5, rule);
    std::vector<int> seen;
    for (std::uint64_t i = 1; i <= 8; ++i) {
      node.step(1);
      const auto offer = std::get<NodeOffers>(node.actions(static_cast<double>(i)).at(0));
      EXPECT_NE(offer.to, self);
      seen.push_back(offer.to);
      node.receive({GossipMessage::Kind::reply, offer.to, self, offer.sequence});
      node.actions(static_cast<double>(i));
    }
    return seen;
  };
  EXPECT_EQ(chosen(PeerChoice::ring, 0), (std::vector{1, 4, 1, 4, 1, 4, 1, 4}));
  EXPECT_EQ(chosen(PeerChoice::shift, 2), (std::vector{3, 4, 0, 1, 3, 4, 0, 1}));
}

TEST(GossipNode, AfterADeclineItTrainsAStepBeforeTheNextOffer) {
  GossipRule rule;
  rule.overlap = 0;
  rule.period = 3;
  GossipNode node = node_among(0, 3, rule);
  node.step(1);
  node.step(1);
  for (std::uint64_t step = 1; step <= 3; ++step) {
    node.step(1);
    const auto actions = node.actions(0);
    ASSERT_EQ(actions.size(), 1U);
    node.receive({GossipMessage::Kind::decline, std::get<NodeOffers>(actions[0]).to, 0, step});
    EXPECT_TRUE(node.may_train());
    EXPECT_TRUE(node.actions(0).empty());
  }
}

TEST(GossipNode, AnExchangeWithALostPeerEnds) {
  GossipRule rule;
  rule.overlap = 0;
  GossipNode node = node_among(0, 3, rule);
  node.step(1);
  const auto offer = std::get<NodeOffers>(node.actions(0).at(0));
  node.forget(offer.to);
  EXPECT_TRUE(node.may_train());
  node.receive({GossipMessage::Kind::offer, offer.to, 0, 1});
  for (const auto& action : node.actions(0)) {
    EXPECT_TRUE(std::holds_alternative<NodeOffers>(action)) << "a message of the dead is not read";
  }
  node.receive({GossipMessage::Kind::decline, 3 - offer.to, 0, 2});
  node.connected(offer.to);  // another node with its number
  EXPECT_FALSE(node.waits()) << "for what the one before was offered";
  node.receive({GossipMessage::Kind::offer, offer.to, 0, 1});
  EXPECT_EQ(node.actions(0, false), (Actions{NodeAnswers{offer.to, 1}}));
}

TEST(GossipNode, AnExchangeContinuesWhenADisconnectedPeerReconnects) {
  GossipRule rule;
  rule.overlap = 0;
  GossipNode node = node_among(0, 3, rule);
  node.step(1);
  const int away = std::get<NodeOffers>(node.actions(0).at(0)).to, other = 3 - away;
  node.disconnected(away);
  EXPECT_TRUE(node.may_train()) << "no node waits for it";
  EXPECT_FALSE(node.remind());
  node.step(1);
  EXPECT_EQ(node.actions(0), (Actions{NodeOffers{other, 2}}));
  node.connected(away);
  EXPECT_TRUE(node.actions(0).empty()) << "one at a time";
  node.receive({GossipMessage::Kind::reply, other, 0, 2});
  EXPECT_EQ(node.actions(0), (Actions{NodeCompletes{other, 2}, NodeOffers{away, 1, true}}));
  node.receive({GossipMessage::Kind::reply, away, 0, 1});
  EXPECT_EQ(node.actions(0), (Actions{NodeCompletes{away, 1}}));
}

TEST(GossipNode, AnswersAnOfferOnceEvenIfThePeerWasDisconnectedMeanwhile) {
  GossipNode node = node_among(0, 2, {});
  node.receive({GossipMessage::Kind::offer, 1, 0, 7});
  EXPECT_EQ(node.actions(0), (Actions{NodeAnswers{1, 7}}));
  node.disconnected(1);
  node.connected(1);
  node.receive({GossipMessage::Kind::offer, 1, 0, 7});  // that was delayed
  EXPECT_EQ(node.actions(0), (Actions{NodeAnswers{1, 7, true}}));
}

/// Nodes with one number each as the model, and a network that loses, repeats and reorders
/// messages.
class GossipSimulation {
 public:
  GossipSimulation(int count, const GossipRule& rule, std::uint64_t seed)
      : rule_(rule), random_(seed) {
    for (int i = 0; i < count; ++i) {
      nodes_.push_back(node_among(i, count, rule));
      models_.push_back(random_.normal());
    }
    weights_.assign(models_.size(), 1);
    trained_.resize(models_.size());
    refusals_.resize(models_.size());
    silent_.resize(models_.size());
  }

  double loss = 0, repeat = 0;
  double cuts = 0;  // how often a pair is disconnected or reconnected
  bool reminds = false;
  /// Whether a node may begin a step; replaces the node's own answer.
  std::function<bool(const GossipNode&)> may_train = [](const GossipNode& node) {
    return node.may_train();
  };

  /// A node steps without learning anything, some messages arrive in any order.
  void stir() {
    const auto id = static_cast<int>(random_.below(nodes_.size()));
    if (cuts > 0 && random_.uniform() < cuts) cut_or_heal(id);
    if (may_train(node(id))) {
      std::size_t& trained = trained_[static_cast<std::size_t>(id)];
      if (node(id).waits()) ++trained;
      longest_overlap_ = std::max(longest_overlap_, trained);
      node(id).step(random_.uniform());
      ++silent_[static_cast<std::size_t>(id)];
    }
    act(id, true);
    if (reminds && random_.uniform() < 0.2) remind(id);
    while (!letters_.empty() && random_.uniform() < 0.7) deliver();
  }
  /// No new offers; repeated offers until no node waits.
  void settle() {
    cut_.clear();
    for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
      for (int j = 0; j < static_cast<int>(nodes_.size()); ++j) node(i).connected(j);
    }
    for (int round = 0; round < 10'000; ++round) {
      bool waits = !letters_.empty();
      while (!letters_.empty()) deliver();
      for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
        act(i, false);
        remind(i);
        waits = waits || node(i).waits();
      }
      if (!waits) return;
    }
    ADD_FAILURE() << "a node waits forever";
  }

  /// What must never change, counting what is on its way.
  double sum() const {
    double sum = 0;
    for (std::size_t i = 0; i < models_.size(); ++i) sum += weights_[i] * models_[i];
    for (const auto& [pair, move] : to_settle_) sum += move;
    for (const auto& [pair, value] : given_) sum += value.weight * value.model;
    return sum;
  }
  double weight() const {
    double sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
    for (const auto& [pair, value] : given_) sum += value.weight;
    return sum;
  }
  std::size_t under_way() const { return to_settle_.size() + given_.size(); }
  double spread() const {
    const auto [low, high] = std::minmax_element(models_.begin(), models_.end());
    return *high - *low;
  }
  /// Steps of a node without an exchange, less one for each time that it was refused.
  std::size_t longest_silence() const { return silence_; }
  /// Most steps that a node did between its offer and the end of it.
  std::size_t longest_overlap() const { return longest_overlap_; }
  const std::vector<double>& models() const { return models_; }
  std::size_t exchanges() const { return exchanges_; }
  GossipNode& node(int i) { return nodes_[static_cast<std::size_t>(i)]; }

 private:
  struct Value {
    double model, weight;
  };
  double& model(int i) { return models_[static_cast<std::size_t>(i)]; }
  double& weight_of(int i) { return weights_[static_cast<std::size_t>(i)]; }

  void remind(int i) {
    if (const auto reminder = node(i).remind())
      send({GossipMessage::Kind::offer, i, reminder->to, reminder->sequence});
  }
  void cut_or_heal(int id) {
    const auto other = static_cast<int>(random_.below(nodes_.size()));
    if (other == id) return;
    const auto [at, is_new] = cut_.insert(std::minmax(id, other));
    if (!is_new) {  // delayed messages arrive and show that the peer is connected
      cut_.erase(at);
      return;
    }
    if (random_.uniform() < 0.6) node(id).disconnected(other);
    if (random_.uniform() < 0.6) node(other).disconnected(id);
  }

  void act(int i, bool offers) {
    for (const auto& action : node(i).actions(0, offers)) {
      dispatch(
          action,
          [&](const NodeOffers& a) {
            trained_[static_cast<std::size_t>(i)] = 0;
            if (!a.again) offer(i, a.to);
            send({GossipMessage::Kind::offer, i, a.to, a.sequence});
          },
          [&](const NodeAnswers& a) {
            if (!a.again) answer(i, a.to);
            if (!a.again && !rule_.push_sum) silent_[static_cast<std::size_t>(i)] = 0;
            send({GossipMessage::Kind::reply, i, a.to, a.sequence});
          },
          [&](const NodeDeclines& a) {
            send({GossipMessage::Kind::decline, i, a.to, a.sequence});
          },
          [&](const NodeCompletes& a) {
            ++exchanges_;
            silent_[static_cast<std::size_t>(i)] = 0;
            if (!rule_.push_sum) {
              model(i) += (answers_[{a.from, i}] - offered_[{i, a.from}].model) / 2;
              to_settle_.erase({i, a.from});
            }
          });
    }
    // A refusal sends it to the next step with what it had.
    std::size_t& refusals = refusals_[static_cast<std::size_t>(i)];
    const std::size_t silent = silent_[static_cast<std::size_t>(i)];
    if (silent == 0) refusals = 0;
    silence_ = std::max(silence_, silent - std::min(refusals, silent));
  }
  void offer(int i, int to) {
    if (rule_.push_sum) weight_of(i) /= 2;
    offered_[{i, to}] = {model(i), weight_of(i)};
    if (rule_.push_sum) given_[{i, to}] = offered_[{i, to}];
  }
  void answer(int i, int to) {
    const Value theirs = offered_[{to, i}];
    given_.erase({to, i});
    if (rule_.push_sum) {
      const double sum = weight_of(i) + theirs.weight;
      model(i) += theirs.weight / sum * (theirs.model - model(i));
      weight_of(i) = sum;
      return;
    }
    answers_[{i, to}] = model(i);
    to_settle_[{to, i}] = (model(i) - theirs.model) / 2;
    model(i) += (theirs.model - model(i)) / 2;
  }
  void send(const GossipMessage& message) {
    if (random_.uniform() >= loss) letters_.push_back(message);
    if (random_.uniform() < repeat) letters_.push_back(message);
  }
  void deliver() {
    const auto at = letters_.begin() + static_cast<std::ptrdiff_t>(random_.below(letters_.size()));
    const GossipMessage message = *at;
    if (cut_.contains(std::minmax(message.from, message.to))) return;
    letters_.erase(at);
    node(message.to).connected(message.from);  // a message shows that its sender is connected
    if (message.kind == GossipMessage::Kind::decline &&
        node(message.to).waits_for(message.from, message.sequence)) {
      ++refusals_[static_cast<std::size_t>(message.to)];
    }
    node(message.to).receive(message);
    if (random_.uniform() < 0.5) act(message.to, false);
  }

  GossipRule rule_;
  Random random_;
  std::vector<GossipNode> nodes_;
  using Pair = std::pair<int, int>;  // from, to
  std::vector<double> models_, weights_;
  std::map<Pair, Value> offered_;
  std::map<Pair, double> answers_;
  std::map<Pair, double> to_settle_;  // the move of a node whose offer was answered
  std::map<Pair, Value> given_;       // by push-sum, and not taken yet
  std::set<Pair> cut_;
  std::vector<GossipMessage> letters_;
  std::vector<std::size_t> trained_;   // steps of each while its offer is under way
  std::vector<std::size_t> refusals_;  // of each since its last exchange
  std::vector<std::size_t> silent_;    // steps of each since its last exchange
  std::size_t silence_ = 0, exchanges_ = 0, longest_overlap_ = 0;
};

TEST(GossipSimulation, TheSumIsKeptUnderLossRepetitionReorderingAndPartitions) {
  std::size_t under_way = 0, exchanges = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    GossipRule rule;
    rule.push_sum = seed % 4 >= 2;
    rule.overlap = seed % 3 == 0 ? 0 : seed % 3 == 1 ? 2 : std::numeric_limits<double>::infinity();
    rule.peers = static_cast<PeerChoice>(seed / 4 % 4);
    GossipSimulation simulation(2 + static_cast<int>(seed % 7), rule, seed);
    simulation.loss = seed % 5 == 0 ? 0 : 0.3;
    simulation.repeat = 0.2;
    simulation.cuts = seed % 2 == 0 ? 0 : 0.1;
    simulation.reminds = true;
    const double sum = simulation.sum(), weight = simulation.weight();
    for (int i = 0; i < 300; ++i) {
      simulation.stir();
      ASSERT_NEAR(simulation.sum(), sum, 1e-9) << seed << " " << i;
      ASSERT_NEAR(simulation.weight(), weight, 1e-9) << seed << " " << i;
      under_way += simulation.under_way();
    }
    exchanges += simulation.exchanges();
    simulation.settle();
    ASSERT_EQ(simulation.under_way(), 0U) << seed;
    ASSERT_NEAR(simulation.sum(), sum, 1e-9) << seed;
    ASSERT_NEAR(simulation.weight(), weight, 1e-9) << seed;
  }
  EXPECT_GT(under_way, 10'000U) << "something was counted on its way";
  EXPECT_GT(exchanges, 10'000U);
}

TEST(GossipSimulation, WithoutTrainingAllModelsConverge) {
  for (const PeerChoice peers :
       {PeerChoice::uniform, PeerChoice::ring, PeerChoice::shift, PeerChoice::fast}) {
    for (const bool push_sum : {false, true}) {
      GossipRule rule;
      rule.peers = peers;
      rule.push_sum = push_sum;
      GossipSimulation simulation(8, rule, 5);
      const double before = simulation.spread();
      for (int i = 0; i < 4000; ++i) simulation.stir();
      simulation.settle();
      EXPECT_LT(simulation.spread(), 1e-3 * before) << static_cast<int>(peers) << push_sum;
    }
  }
}

RC_GTEST_PROP(GossipNode, IsNeverSilentForLongerThanKMax, ()) {
  GossipRule rule;
  rule.adaptive = true;
  rule.warmup = 0;
  rule.eps = *rc::gen::inRange(0, 30) * 0.1;
  rule.k_max = *rc::gen::inRange(1, 20);
  rule.overlap = 0;  // a node that waits for an answer does not train
  GossipSimulation simulation(4, rule, *rc::gen::arbitrary<std::uint64_t>());
  for (int i = 0; i < 500; ++i) simulation.stir();
  RC_ASSERT(static_cast<double>(simulation.longest_silence()) <= rule.k_max);
}

RC_GTEST_PROP(GossipNode, NeverTrainsForLongerThanOverlapWhileItsOfferIsUnderWay, ()) {
  GossipRule rule;
  rule.overlap = *rc::gen::inRange(0, 6);
  rule.period = *rc::gen::inRange<std::size_t>(1, 5);
  rule.push_sum = *rc::gen::arbitrary<bool>();
  GossipSimulation simulation(2 + *rc::gen::inRange(0, 4), rule,
                              *rc::gen::arbitrary<std::uint64_t>());
  simulation.loss = 0.5;
  simulation.repeat = 0.2;
  // A lost message is repeated late: by then the node has trained all steps that it may.
  for (int i = 0; i < 300; ++i) simulation.stir();
  RC_ASSERT(static_cast<double>(simulation.longest_overlap()) <= rule.overlap);
  simulation.settle();
  for (int i = 0; i < 300; ++i) simulation.stir();
  RC_ASSERT(static_cast<double>(simulation.longest_overlap()) <= rule.overlap);
}

TEST(GossipSimulation, WithoutOverlapItIsTheClassicFormAndWithoutLimitNoNodeWaits) {
  constexpr double kUnlimited = std::numeric_limits<double>::infinity();
  struct Row {
    double overlap;
    std::function<bool(const GossipNode&)> form;
  };
  for (const auto& [overlap, form] :
       {Row{0, [](const GossipNode& node) { return !node.waits(); }},
        Row{kUnlimited, [](const GossipNode& /*node*/) { return true; }}}) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      GossipRule rule;
      rule.overlap = overlap;
      rule.push_sum = seed % 2 == 1;
      GossipSimulation by_rule(4, rule, seed);
      rule.overlap = overlap == 0 ? kUnlimited : 0;  // what it says is not asked for
      GossipSimulation by_form(4, rule, seed);
      by_form.may_train = form;
      for (GossipSimulation* simulation : {&by_rule, &by_form}) {
        simulation->loss = 0.2;
        for (int i = 0; i < 200; ++i) simulation->stir();
        simulation->settle();
      }
      ASSERT_GT(by_rule.exchanges(), 0U);
      ASSERT_EQ(by_rule.exchanges(), by_form.exchanges()) << overlap << " " << seed;
      ASSERT_EQ(by_rule.models(), by_form.models()) << overlap << " " << seed;
    }
  }
}

TEST(GossipNode, WithoutThresholdItExchangesEveryStepAndWithoutLimitsNever) {
  GossipRule every;
  every.adaptive = true;
  every.warmup = 0;
  every.eps = 0;
  GossipRule fixed;
  GossipSimulation adaptive(4, every, 9), plain(4, fixed, 9);
  for (int i = 0; i < 500; ++i) {
    adaptive.stir();
    plain.stir();
  }
  EXPECT_EQ(adaptive.exchanges(), plain.exchanges());
  EXPECT_GT(plain.exchanges(), 20U);
  EXPECT_EQ(adaptive.models(), plain.models());
  every.eps = every.k_max = std::numeric_limits<double>::infinity();
  GossipSimulation alone(4, every, 9);
  for (int i = 0; i < 500; ++i) alone.stir();
  EXPECT_EQ(alone.exchanges(), 0U);
}

}  // namespace
}  // namespace evener
