// What gossip peers send and apply, with real replicas. Whatever part of a model is sent, and in
// whatever order messages arrive, the sum of all models stays the same.
#include "evener/runtime/peer_replica.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "tests/device/random_data.h"
#include "tests/sanitized.h"
#include <gtest/gtest.h>

#include "evener/nn/initialise.h"
#include "evener/policy/gossip_node.h"
#include "evener/policy/policy.h"
#include "evener/runtime/replica_distance.h"

namespace evener {
namespace {

constexpr std::uint32_t kFeatures = 60, kLabels = 9;

Dataset make_data() {
  Random random(3);
  return random_data(random, 200, kFeatures, kLabels);
}

/// Replicas of one small network, all from the same model.
class Replicas {
 public:
  Replicas(int count, const std::string& strategy) : device_(make_device("cpu:1")) {
    network_.features = kFeatures;
    network_.labels = kLabels;
    network_.hidden = {3};
    network_.activation = Activation::tanh;  // no unit is dead
    Training training;
    training.optimizer = Optimizer::sgd;
    start_.resize(layout_of(network_).size);
    initialise(network_, 5, start_);
    replicas_.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      replicas_.emplace_back(device_->make_replica(network_, training), network_, data_,
                             peer_options(parse_strategy(strategy)));
      replicas_.back().start_from(start_);
    }
  }

  PeerReplica& operator[](int i) { return replicas_[static_cast<std::size_t>(i)]; }
  std::vector<float> model(int i) {
    std::vector<float> copy;
    (*this)[i].look([&](std::span<const float> own) { copy.assign(own.begin(), own.end()); });
    return copy;
  }
  void train(int i, std::vector<std::uint32_t> rows, float rate) {
    Task task;
    task.parts.push_back({{rows, rows.size(), 0}, {++steps_, rate}});
    (*this)[i].train(task);
  }
  void exchange(int from, int to) {
    const ModelUpdate offer = (*this)[from].offer();
    const ModelUpdate reply = (*this)[to].answer(offer);
    (*this)[from].complete_exchange(offer, reply);
  }
  const Dataset& data() const { return data_; }
  const std::vector<float>& start() const { return start_; }
  ModelUpdateLayout map() const { return ModelUpdateLayout(network_); }

 private:
  Dataset data_ = make_data();
  Network network_;
  std::unique_ptr<Device> device_;
  std::vector<float> start_;
  std::vector<PeerReplica> replicas_;
  std::uint64_t steps_ = 0;
};

/// Rows of the data that have features and labels.
std::vector<std::uint32_t> rows_to_learn(const Dataset& data, std::size_t count) {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; rows.size() < count; ++row) {
    const bool has_both =
        !data.features.row(row).indices.empty() && !data.labels.row(row).indices.empty();
    if (has_both) rows.push_back(row);
  }
  return rows;
}

/// Features of these rows of the data.
std::vector<std::uint32_t> features_of(const Dataset& data,
                                       const std::vector<std::uint32_t>& rows) {
  RowSet features(kFeatures);
  for (const std::uint32_t row : rows) {
    for (const std::uint32_t feature : data.features.row(row).indices) features.add(feature);
  }
  auto sorted = features.rows();
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

TEST(PeerReplica, SendsAllRowsOrTheChangedRowsOfBothLayers) {
  Replicas all(2, "gossip");
  EXPECT_EQ(all[0].offer().bytes(), all.map().size() * sizeof(float)) << "without numbers of rows";
  Replicas some(2, "gossip:rows=changed:eps-rows=0");
  const auto rows = rows_to_learn(some.data(), 2);
  some.train(0, rows, 0.1F);
  const ModelUpdate offer = some[0].offer();
  EXPECT_EQ(offer.rows, features_of(some.data(), rows));
  EXPECT_LT(offer.rows.size(), kFeatures);
  EXPECT_EQ(offer.labels.size(), kLabels) << "softmax pushes every label";
  EXPECT_EQ(offer.values.size(), some.map().numbers(offer));
  const ModelUpdate reply = some[1].answer(offer);
  EXPECT_EQ(reply.bytes(), offer.values.size() * sizeof(float)) << "its rows are known";
}

TEST(PeerReplica, ARowIsSentWhenItHasChangedEnough) {
  Replicas replicas(2, "gossip:rows=changed:eps-rows=0.05");
  const auto rows = rows_to_learn(replicas.data(), 1);
  std::size_t labels = 0, features = 0;
  int steps = 0;
  for (; steps < 500 && (labels == 0 || features == 0); ++steps) {
    replicas.train(0, rows, 0.005F);
    const ModelUpdate offer = replicas[0].offer();
    if (steps == 0) {
      EXPECT_EQ(offer.rows.size() + offer.labels.size(), 0U);
    }
    labels += offer.labels.size();
    features += offer.rows.size();
    const auto now = replicas.model(0);
    for (std::uint32_t label = 0; label < kLabels; ++label) {
      double change = 0, length = 0;
      const auto [at, floats] = replicas.map().label(label);
      for (std::size_t j = at; j < at + floats; ++j) {
        const double d = now[j] - replicas.start()[j];
        change += d * d;
        length += static_cast<double>(replicas.start()[j]) * replicas.start()[j];
      }
      // No exchange yet: the reference is the start.
      const bool listed = std::binary_search(offer.labels.begin(), offer.labels.end(), label);
      EXPECT_EQ(listed, change > 0.05 * 0.05 * length) << label;
    }
  }
  EXPECT_GT(steps, 1);
  EXPECT_LT(steps, 500);
}

TEST(PeerReplica, WhatAnExchangeDoesNotSendIsNotCountedAgain) {
  Replicas replicas(2, "adaptive-gossip:rows=changed:eps-rows=0.3");
  replicas.train(0, {1, 2, 3}, 0.05F);
  const double first = replicas[0].change();
  EXPECT_GT(first, 0);
  ASSERT_TRUE(replicas[0].offer().rows.empty()) << "too little for a row";
  replicas.exchange(0, 1);
  EXPECT_EQ(replicas[0].change(), 0);
  replicas.train(0, {1, 2, 3}, 1e-6F);
  EXPECT_LT(replicas[0].change(), 0.05 * first);
}

TEST(PeerReplica, TheTwoMovesOfAnExchangeAreOppositeToTheBit) {
  for (const char* strategy :
       {"gossip", "gossip:compress=fp16", "gossip:compress=top-k:top-k=0.1",
        "gossip:rows=changed:eps-rows=0.01", "gossip:rows=changed:eps-rows=0.01:compress=fp16",
        "gossip:rows=changed:eps-rows=0.01:compress=top-k:top-k=0.2"}) {
    Replicas replicas(2, strategy);
    replicas.train(0, {1, 2, 3, 4}, 0.3F);
    replicas.train(1, {50, 51}, 0.2F);
    const auto one = replicas.model(0), two = replicas.model(1);
    const ModelUpdate offer = replicas[0].offer();
    const ModelUpdate reply = replicas[1].answer(offer);
    replicas[0].complete_exchange(offer, reply);
    ASSERT_EQ(offer.values.size(), reply.values.size()) << strategy;
    auto new_one = one, new_two = two;
    std::size_t moved = 0;
    replicas.map().for_numbers(offer, [&](std::size_t at, std::size_t i) {
      const float half = 0.5F * (reply.values[i] - offer.values[i]);
      new_one[at] += half;
      new_two[at] -= half;
      moved += half != 0 ? 1 : 0;
      const float sent = offer.half ? nearest_half(one[at]) : one[at];
      ASSERT_EQ(offer.values[i], sent) << strategy;
    });
    EXPECT_GT(moved, 10U) << strategy;
    EXPECT_EQ(replicas.model(0), new_one) << strategy;
    EXPECT_EQ(replicas.model(1), new_two) << strategy;
  }
}

TEST(PeerReplica, AnExchangeMeasuresTheDistanceOfBothModels) {
  Replicas replicas(2, "gossip");
  EXPECT_FALSE(replicas[0].exchange_distance());
  replicas.train(0, rows_to_learn(replicas.data(), 4), 0.3F);
  std::vector<FloatBuffer> both;
  for (int i = 0; i < 2; ++i) {
    const auto model = replicas.model(i);
    both.emplace_back(model.size());
    std::copy(model.begin(), model.end(), both.back().data());
  }
  const double distance = replica_distance(both);
  ASSERT_GT(distance, 1e-4);
  replicas.exchange(0, 1);
  ASSERT_TRUE(replicas[0].exchange_distance() && replicas[1].exchange_distance());
  EXPECT_EQ(*replicas[0].exchange_distance(), *replicas[1].exchange_distance());
  EXPECT_NEAR(
      distance_by_pairs(*replicas[0].exchange_distance() * *replicas[0].exchange_distance(), 2),
      distance, 1e-9 * distance);
  replicas.exchange(0, 1);
  EXPECT_LT(*replicas[0].exchange_distance(), 1e-6) << "they are the same now";
  Replicas push(2, "gossip:merge=pushsum");
  push.train(0, rows_to_learn(push.data(), 4), 0.3F);
  push.exchange(0, 1);
  EXPECT_FALSE(push[0].exchange_distance()) << "it has not seen the other's";
  EXPECT_GT(*push[1].exchange_distance(), 1e-4);
}

TEST(ReplicaDistance, ByPairsEstimatesTheDistanceOfAll) {
  Random random(4);
  std::vector<FloatBuffer> models;
  for (int i = 0; i < 5; ++i) {
    FloatBuffer& model = models.emplace_back(1000);
    for (std::size_t j = 0; j < 1000; ++j) {
      model[j] = std::sin(static_cast<float>(j)) + 0.01F * static_cast<float>(random.normal());
    }
  }
  double squares = 0;
  int pairs = 0;
  for (std::size_t i = 0; i < models.size(); ++i) {
    for (std::size_t j = i + 1; j < models.size(); ++j, ++pairs) {
      const double distance =
          pair_distance(std::as_const(models[i]).span(), std::as_const(models[j]).span());
      squares += distance * distance;
    }
  }
  const double all = replica_distance(models);
  EXPECT_NEAR(distance_by_pairs(squares / pairs, models.size()), all, 1e-3 * all);
}

TEST(PeerReplica, HalfPrecisionSendsHalfTheBytes) {
  Replicas replicas(2, "gossip:compress=fp16");
  const ModelUpdate offer = replicas[0].offer();
  EXPECT_EQ(offer.bytes(), replicas.map().size() * 2);
  EXPECT_EQ(replicas[1].answer(offer).bytes(), offer.bytes());
}

TEST(PeerReplica, WhatIsNotSentIsSentLater) {
  Replicas replicas(2, "gossip:compress=top-k:top-k=0.05");
  replicas.train(0, {1, 2, 3, 4}, 0.3F);
  const auto changed = replicas.model(0);
  std::size_t to_send = 0;
  for (std::size_t j = 0; j < changed.size(); ++j) to_send += changed[j] != replicas.start()[j];
  std::vector<std::uint32_t> seen;
  float least = INFINITY;
  for (int round = 0; round < 100; ++round) {
    const ModelUpdate offer = replicas[0].offer();
    if (offer.picked.empty()) break;
    // The largest changes go first.
    float most = 0, smallest = INFINITY;
    for (const std::uint32_t at : offer.picked) {
      const float change = std::abs(changed[at] - replicas.start()[at]);
      most = std::max(most, change);
      smallest = std::min(smallest, change);
    }
    EXPECT_LE(most, least);
    least = smallest;
    seen.insert(seen.end(), offer.picked.begin(), offer.picked.end());
    replicas[0].complete_exchange(offer, replicas[1].answer(offer));
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end()) << "each once";
  EXPECT_EQ(seen.size(), to_send) << "and all";
  // Now both have half of the change of the first one.
  const auto one = replicas.model(0), two = replicas.model(1);
  for (std::size_t j = 0; j < one.size(); ++j) {
    ASSERT_NEAR(one[j], two[j], 1e-6);
    ASSERT_NEAR(two[j], (changed[j] + replicas.start()[j]) / 2, 1e-6);
  }
}

TEST(PeerReplica, ARestoredStateHasWhatIsStillToBeSent) {
  for (const char* strategy :
       {"gossip:compress=top-k:top-k=0.05", "gossip:rows=changed:eps-rows=0.02",
        "adaptive-gossip:rows=changed:eps-rows=0.3", "gossip:merge=pushsum"}) {
    Replicas before(2, strategy);
    before.train(0, rows_to_learn(before.data(), 4), 0.3F);
    before.exchange(0, 1);
    before.train(0, rows_to_learn(before.data(), 8), 0.3F);
    Replicas after(2, strategy);
    after[0].start_from(before.model(0));
    after[1].start_from(before.model(0));
    after[0].restore(before[0].state());
    EXPECT_EQ(after[0].weight(), before[0].weight()) << strategy;
    for (Replicas* replicas : {&before, &after}) {
      replicas->train(0, rows_to_learn(before.data(), 2), 0.1F);
    }
    EXPECT_NEAR(after[0].change(), before[0].change(), 1e-6 * before[0].change()) << strategy;
    const ModelUpdate offer = before[0].offer(), same = after[0].offer(), anew = after[1].offer();
    EXPECT_EQ(same.rows, offer.rows) << strategy;
    EXPECT_EQ(same.labels, offer.labels) << strategy;
    EXPECT_EQ(same.picked, offer.picked) << strategy;
    EXPECT_EQ(same.values, offer.values) << strategy;
    EXPECT_NE(anew.values.size() + static_cast<std::size_t>(4 * anew.weight),
              offer.values.size() + static_cast<std::size_t>(4 * offer.weight))
        << strategy << ": it would have shown";
  }
}

TEST(PeerReplica, WhatPushSumReceivesIsNotItsOwnChange) {
  Replicas replicas(2, "adaptive-gossip:merge=pushsum");
  replicas.train(0, rows_to_learn(replicas.data(), 4), 0.3F);
  ASSERT_GT(replicas[0].change(), 1e-3);
  replicas.exchange(0, 1);
  replicas.train(1, rows_to_learn(replicas.data(), 4), 0);  // rate 0: it learns nothing
  EXPECT_LT(replicas[1].change(), 1e-6);
}

TEST(PeerReplica, PushSumSendsTheWholeModel) {
  for (const char* strategy :
       {"gossip:merge=pushsum:rows=changed", "gossip:merge=pushsum:compress=top-k"}) {
    EXPECT_THROW(parse_strategy(strategy).gossip(), UsageError) << strategy;
  }
}

/// Nodes that train real replicas, and a network that loses, repeats and reorders messages and
/// sometimes disconnects a node.
class LocalNetwork {
 public:
  LocalNetwork(int count, const std::string& strategy, std::uint64_t seed)
      : rule_(parse_strategy(strategy).gossip()), replicas_(count, strategy), random_(seed) {
    for (int i = 0; i < count; ++i) {
      nodes_.emplace_back(i, rule_, seed);
      for (int j = 0; j < count; ++j) nodes_.back().connected(j);
    }
    expected_ = sum();
  }

  void stir() {
    const auto id = static_cast<int>(random_.below(nodes_.size()));
    if (random_.uniform() < 0.05) {  // disconnected until its next message
      node(id).disconnected(static_cast<int>(random_.below(nodes_.size())));
    }
    if (node(id).may_train()) train(id);
    act(id, true);
    while (!letters_.empty() && random_.uniform() < 0.7) deliver();
  }
  /// No new offers; reminders until no node waits.
  void complete_exchange() {
    for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
      for (int j = 0; j < static_cast<int>(nodes_.size()); ++j) node(i).connected(j);
    }
    for (int round = 0; round < 1000; ++round) {
      bool waits = !letters_.empty();
      while (!letters_.empty()) deliver();
      for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
        act(i, false);
        if (const auto reminder = node(i).remind()) {
          send({GossipMessage::Kind::offer, i, reminder->to, reminder->sequence},
               offers_[{i, reminder->to}]);
        }
        waits = waits || node(i).waits();
      }
      if (!waits) return;
    }
    ADD_FAILURE() << "a node waits forever";
  }

  double weight() {
    double sum = 0;
    for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) sum += replicas_[i].weight();
    return sum;
  }
  /// The largest error of the weighted sum of all models, against the start and all steps.
  double error() {
    const auto now = sum();
    double most = 0;
    for (std::size_t j = 0; j < now.size(); ++j) {
      most = std::max(most, std::abs(now[j] - expected_[j]));
    }
    return most;
  }
  std::size_t exchanges() const { return exchanges_; }

 private:
  struct Sent {
    GossipMessage message;
    ModelUpdate update;
  };
  GossipNode& node(int i) { return nodes_[static_cast<std::size_t>(i)]; }

  std::vector<double> sum() {
    std::vector<double> sum(replicas_.start().size());
    for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
      const auto own = replicas_.model(i);
      for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += replicas_[i].weight() * own[j];
    }
    return sum;
  }
  void train(int i) {
    const auto before = replicas_.model(i);
    const auto row = static_cast<std::uint32_t>(random_.below(replicas_.data().rows()));
    replicas_.train(i, {row}, 0.1F);
    const auto after = replicas_.model(i);
    for (std::size_t j = 0; j < after.size(); ++j) {
      expected_[j] += replicas_[i].weight() * (static_cast<double>(after[j]) - before[j]);
    }
    node(i).step(replicas_[i].change());
  }
  void act(int i, bool offers) {
    for (const auto& action : node(i).actions(0, offers)) {
      dispatch(
          action,
          [&](const NodeOffers& a) {
            ModelUpdate& offer = offers_[{i, a.to}];
            if (!a.again) offer = replicas_[i].offer();
            send({GossipMessage::Kind::offer, i, a.to, a.sequence}, offer);
          },
          [&](const NodeAnswers& a) {
            ModelUpdate& answer = answers_[{i, a.to}];
            if (!a.again) answer = replicas_[i].answer(came_[{a.to, i}]);
            send({GossipMessage::Kind::reply, i, a.to, a.sequence}, answer);
          },
          [&](const NodeDeclines& a) {
            send({GossipMessage::Kind::decline, i, a.to, a.sequence}, {});
          },
          [&](const NodeCompletes& a) {
            replicas_[i].complete_exchange(offers_[{i, a.from}], replies_[{a.from, i}]);
            ++exchanges_;
          });
    }
  }
  void send(const GossipMessage& message, const ModelUpdate& update) {
    constexpr double kLoss = 0.05, kRepeat = 0.1;
    if (random_.uniform() >= kLoss) letters_.push_back({message, update});
    if (random_.uniform() < kRepeat) letters_.push_back({message, update});
  }
  /// As a gossip peer does: a message that it does not wait for is dropped.
  void deliver() {
    const auto at = letters_.begin() + static_cast<std::ptrdiff_t>(random_.below(letters_.size()));
    const Sent sent = std::move(*at);
    letters_.erase(at);
    const GossipMessage& message = sent.message;
    node(message.to).connected(message.from);  // a message shows that its sender is present
    if (message.kind == GossipMessage::Kind::offer) {
      std::uint64_t& last = sequences_[{message.from, message.to}];
      if (message.sequence < last) return;
      last = message.sequence;
      came_[{message.from, message.to}] = sent.update;
    }
    if (message.kind == GossipMessage::Kind::reply) {
      if (!node(message.to).waits_for(message.from, message.sequence)) return;
      replies_[{message.from, message.to}] = sent.update;
    }
    node(message.to).receive(message);
    if (random_.uniform() < 0.5) act(message.to, false);
  }

  using Pair = std::pair<int, int>;
  GossipRule rule_;
  Replicas replicas_;
  Random random_;
  std::vector<GossipNode> nodes_;
  std::map<Pair, ModelUpdate> offers_, came_, answers_, replies_;
  std::map<Pair, std::uint64_t> sequences_;
  std::vector<Sent> letters_;
  std::vector<double> expected_;
  std::size_t exchanges_ = 0;
};

TEST(LocalNetwork, TheSumOfAllModelsIsKeptOver1000RandomSchedules) {
  const std::vector<std::string> strategies{
      "gossip",
      "gossip:overlap=0",
      "gossip:rows=changed",
      "gossip:rows=changed:eps-rows=0.2:peer-choice=ring",
      "gossip:compress=fp16",
      "gossip:compress=top-k:top-k=0.05",
      "gossip:rows=changed:compress=fp16:overlap=0",
      "gossip:rows=changed:compress=top-k:top-k=0.2",
      "gossip:merge=pushsum",
      "gossip:merge=pushsum:compress=fp16",
      "adaptive-gossip:warmup=2:eps=0.05:k-max=9",
      "adaptive-gossip:warmup=2:eps=0.05:k-max=9:rows=changed:eps-rows=0.1:compress=fp16"};
  for (std::uint64_t seed = 0; seed < (kSanitized ? 120 : 1000); ++seed) {
    const std::string& strategy = strategies[seed % strategies.size()];
    const int count = 2 + static_cast<int>(seed % 4);
    LocalNetwork network(count, strategy, seed);
    for (int i = 0; i < 60; ++i) network.stir();
    network.complete_exchange();
    ASSERT_NEAR(network.weight(), count, 1e-9) << strategy << " " << seed;
    ASSERT_LT(network.error(), 1e-4) << strategy << " " << seed;
    ASSERT_GT(network.exchanges(), 0U) << strategy << " " << seed;
  }
}

}  // namespace
}  // namespace evener
