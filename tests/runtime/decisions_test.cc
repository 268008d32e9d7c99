// Decisions that do not belong to the strategy's kind of sharing, sent by a fake policy: each one
// is refused with an Error, in release builds too.
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "tests/runtime/fakes.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/runtime/model_kinds.h"
#include "evener/runtime/scheduler.h"
#include "evener/runtime/wall_clock.h"

namespace evener {
namespace {

/// Returns one decision for the first event of this type.
template <class When>
class OneDecision final : public Policy {
 public:
  explicit OneDecision(Decision decision) : decision_(std::move(decision)) {}
  Decisions on(const Event& event) override {
    if (!decision_ || !std::holds_alternative<When>(event)) return {};
    return {*std::exchange(decision_, std::nullopt)};
  }

 private:
  std::optional<Decision> decision_;
};

/// A decision as messages call it, and the kind of sharing that it needs; empty: any.
struct Needs {
  std::string name, kind;
};
Needs needs_of(const Decision& decision) {
  const auto any = [] { return Needs{}; };
  return std::visit(
      Cases{[&](const Assign&) { return any(); }, [&](const SetTimer&) { return any(); },
            [&](const Note&) { return any(); },
            [](const Merge&) {
              return Needs{"Merge", "replicas"};
            },
            [](const ElasticAverage&) {
              return Needs{"ElasticAverage", "replicas"};
            },
            [](const Measure&) {
              return Needs{"Measure", "replicas"};
            },
            [](const Apply&) {
              return Needs{"Apply", "gradients"};
            },
            [](const ApplyPushes&) {
              return Needs{"ApplyPushes", "pushes"};
            },
            [](const Reject&) {
              return Needs{"Reject", "pushes"};
            },
            [](const Offer&) {
              return Needs{"Offer", "peers"};
            },
            [](const Answer&) {
              return Needs{"Answer", "peers"};
            },
            [](const Decline&) {
              return Needs{"Decline", "peers"};
            },
            [](const CompleteExchange&) {
              return Needs{"CompleteExchange", "peers"};
            },
            [](const Average&) {
              return Needs{"Average", "peers"};
            }},
      decision);
}

std::vector<Decision> all_decisions() {
  return {Assign{0, 4},
          Merge{{0.5, 0.5}},
          ElasticAverage{0.5},
          Apply{{0.5, 0.5}},
          ApplyPushes{{0, 1}},
          Reject{0},
          SetTimer{1},
          Measure{},
          Note{"a note"},
          Offer{0, 1, 1},
          Answer{0, 1, 1},
          Decline{0, 1, 1},
          CompleteExchange{0, 1, 1},
          Average{}};
}

struct Kind {
  std::string strategy, kind;
  Work work;  // what a worker with a fake device does
};
const std::vector<Kind>& kinds() {
  static const std::vector<Kind> kinds{
      {"sequential", "single", Work::local}, {"hogbatch", "shared", Work::copied},
      {"elastic", "replicas", Work::local},  {"sync", "gradients", Work::gradient},
      {"asp", "pushes", Work::pushed},       {"gossip", "peers", Work::local},
  };
  return kinds;
}

/// Two workers with the strategy's model, under another policy.
class DecisionsTest : public testing::Test {
 protected:
  DecisionsTest() : traits_(2), timeline_({"card 0", "card 1"}) {
    plan_.data = &data_;
    setup_.network.features = data_.feature_count;
    setup_.network.labels = data_.label_count;
    setup_.network.hidden = {4};
    setup_.training.optimizer = Optimizer::sgd;
    setup_.data = &data_;
    for (auto& device : devices_) setup_.devices.push_back(&device);
  }

  /// The error of an epoch in which this is decided first; empty: there was none that refused it.
  template <class When = EpochBegan>
  std::string refusal(const std::string& strategy, const Decision& decision) {
    const auto models = make_models(setup_, parse_strategy(strategy));
    models->give(0, FloatBuffer(layout_of(setup_.network).size));
    const auto executor = make_wall_clock(*models, 2);
    OneDecision<When> policy(decision);
    Position position;
    try {
      Scheduler scheduler(plan_, policy, *models, *executor, traits_, timeline_);
      scheduler.run_epoch(position, go_on);
    } catch (const Error& error) {
      const std::string what = error.what();
      // The fake policy makes no other decisions: that is a later, different error.
      return what == "the strategy left rows of the epoch untrained" ? "" : what;
    }
    return "";
  }

  Dataset data_ = small_data(10);
  EpochPlan plan_;
  ModelSetup setup_;
  FakeLog log_;
  std::array<FakeDevice, 2> devices_{FakeDevice("card 0", log_), FakeDevice("card 1", log_)};
  std::vector<WorkerTraits> traits_;
  Timeline timeline_;
};

TEST_F(DecisionsTest, DecisionsOfAnotherKindOfSharingAreRefused) {
  ASSERT_EQ(all_decisions().size(), std::variant_size_v<Decision>);
  for (const auto& [strategy, kind, work] : kinds()) {
    for (const Decision& decision : all_decisions()) {
      const auto [name, needed] = needs_of(decision);
      if (needed.empty() || needed == kind) continue;
      EXPECT_EQ(refusal(strategy, decision),
                "the policy decided " + name + ", which needs a model of kind '" + needed +
                    "', but the strategy's model is of kind '" + kind + "'");
    }
  }
}

TEST_F(DecisionsTest, DecisionsOfTheSameKindOfSharingAreCarriedOut) {
  EXPECT_EQ(refusal("elastic", Merge{{0.5, 0.5}}), "");
  EXPECT_EQ(refusal("elastic", ElasticAverage{0.5}), "");
  EXPECT_EQ(refusal("elastic", Measure{}), "");
  EXPECT_EQ(refusal("sync", Apply{{0.5, 0.5}}), "");
  EXPECT_EQ(refusal("asp", Reject{0}), "");
  EXPECT_EQ(refusal("gossip", Offer{0, 1, 1}), "");
  EXPECT_EQ(refusal("gossip", Decline{0, 1, 1}), "");
  EXPECT_EQ(refusal("gossip", Average{}), "");
}

TEST_F(DecisionsTest, TasksThatTheModelCannotRunAreRefused) {
  for (const auto& [strategy, kind, own] : kinds()) {
    for (const Work work :
         {Work::local, Work::in_place, Work::copied, Work::gradient, Work::pushed}) {
      Assign decision{0, 4};
      decision.work = work;
      const std::string refused = refusal(strategy, decision);
      if (work == own) {
        EXPECT_EQ(refused, "") << strategy;
      } else {
        EXPECT_THAT(refused, testing::HasSubstr("of kind '" + kind + "', cannot run")) << strategy;
      }
    }
  }
}

TEST_F(DecisionsTest, AnAssignmentBeforeTheFirstEpochIsRefused) {
  EXPECT_THAT(refusal<Joined>("elastic", Assign{0, 4}),
              testing::HasSubstr("before the first epoch has begun"));
}

TEST_F(DecisionsTest, ASingleWorkerHasNoPeersToSendAMessageTo) {
  const auto models = make_models(setup_, parse_strategy("sequential"));
  EXPECT_THROW(make_wall_clock(*models, 1)->send({}, 0), Error);
}

}  // namespace
}  // namespace evener
