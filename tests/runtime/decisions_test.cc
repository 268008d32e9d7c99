// Decisions that a policy must not make, sent by a fake policy: those of another kind of sharing,
// for workers that are busy or do not exist, with weights that are not numbers, and those that
// cause each other for ever. Each is refused with an Error, in release builds too.
#include <array>
#include <limits>
#include <memory>
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

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Returns these decisions for the first event of this type.
template <class When>
class Once final : public Policy {
 public:
  explicit Once(Decisions decisions) : decisions_(std::move(decisions)) {}
  Decisions on(const Event& event) override {
    if (!std::holds_alternative<When>(event)) return {};
    return std::exchange(decisions_, {});
  }

 private:
  Decisions decisions_;
};

/// Returns this decision for every event of this type.
template <class When>
class Always final : public Policy {
 public:
  explicit Always(Decision decision) : decision_(std::move(decision)) {}
  Decisions on(const Event& event) override {
    if (!std::holds_alternative<When>(event) && !std::holds_alternative<EpochBegan>(event))
      return {};
    return {decision_};
  }

 private:
  Decision decision_;
};

/// A decision as messages call it, and the kind of sharing that it needs; empty: any.
struct Needs {
  std::string name, kind;
};
Needs needs_of(const Decision& decision) {
  const auto any = [] { return Needs{}; };
  return dispatch(
      decision, [&](const Assign&) { return any(); }, [&](const SetTimer&) { return any(); },
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
      });
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

  /// The error of an epoch with this policy; empty: there was none that refused a decision.
  std::string error_of(const std::string& strategy, Policy& policy) {
    const auto models = make_models(setup_, parse_strategy(strategy));
    models->give(0, FloatBuffer(layout_of(setup_.network).size));
    std::unique_ptr<Executor> executor = make_wall_clock(*models, 2);
    std::optional<Scheduler> scheduler;
    Position position;
    std::string what;
    try {
      scheduler.emplace(plan_, policy, *models, *executor, traits_, timeline_);
      scheduler->run_epoch(position, go_on);
    } catch (const Error& error) {
      what = error.what();
    }
    executor.reset();  // a task that still runs uses the scheduler's rows
    // The fake policy makes no other decisions: that is a later, different error.
    return what.starts_with("the policy left rows") ? "" : what;
  }
  template <class When = EpochBegan>
  std::string refusal(const std::string& strategy, const Decisions& decisions) {
    Once<When> policy(decisions);
    return error_of(strategy, policy);
  }
  template <class When>
  std::string refusal_of_loop(const std::string& strategy, const Decision& decision) {
    Always<When> policy(decision);
    return error_of(strategy, policy);
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
      EXPECT_EQ(refusal(strategy, {decision}),
                "the policy decided " + name + ", which needs a model of kind '" + needed +
                    "', but the strategy's model is of kind '" + kind + "'");
    }
  }
}

TEST_F(DecisionsTest, DecisionsOfTheSameKindOfSharingAreCarriedOut) {
  EXPECT_EQ(refusal("elastic", {Merge{{0.5, 0.5}}}), "");
  EXPECT_EQ(refusal("elastic", {ElasticAverage{0.5}}), "");
  EXPECT_EQ(refusal("elastic", {Measure{}}), "");
  EXPECT_EQ(refusal("sync", {Apply{{0.5, 0.5}}}), "");
  EXPECT_EQ(refusal("gossip", {Offer{0, 1, 1}}), "");
  EXPECT_EQ(refusal("gossip", {Decline{0, 1, 1}}), "");
  EXPECT_EQ(refusal("gossip", {Average{}}), "");
}

TEST_F(DecisionsTest, TasksThatTheModelCannotRunAreRefused) {
  for (const auto& [strategy, kind, own] : kinds()) {
    for (const Work work :
         {Work::local, Work::in_place, Work::copied, Work::gradient, Work::pushed}) {
      Assign decision{0, 4};
      decision.work = work;
      const std::string refused = refusal(strategy, {decision});
      if (work == own) {
        EXPECT_EQ(refused, "") << strategy;
      } else {
        EXPECT_THAT(refused, testing::HasSubstr("of kind '" + kind + "', cannot run")) << strategy;
      }
    }
  }
}

TEST_F(DecisionsTest, AnAssignmentBeforeTheFirstEpochIsRefused) {
  EXPECT_THAT(refusal<Joined>("elastic", {Assign{0, 4}}),
              testing::HasSubstr("before the first epoch has begun"));
}

TEST_F(DecisionsTest, WorkersThatDoNotExistAreRefused) {
  EXPECT_EQ(refusal("elastic", {Assign{2, 4}}),
            "the policy decided Assign for worker 2, but there are 2 workers");
  EXPECT_EQ(refusal("elastic", {Assign{-1, 4}}),
            "the policy decided Assign for worker -1, but there are 2 workers");
  EXPECT_THAT(refusal("asp", {ApplyPushes{{2}}}), testing::HasSubstr("for worker 2"));
  EXPECT_THAT(refusal("asp", {Reject{2}}), testing::HasSubstr("for worker 2"));
  EXPECT_THAT(refusal("gossip", {Offer{2, 0, 1}}), testing::HasSubstr("for worker 2"));
  EXPECT_THAT(refusal("gossip", {Offer{0, 2, 1}}), testing::HasSubstr("for worker 2"));
  EXPECT_THAT(refusal("gossip", {Answer{0, 2, 1}}), testing::HasSubstr("for worker 2"));
  EXPECT_THAT(refusal("gossip", {Decline{0, 2, 1}}), testing::HasSubstr("for worker 2"));
  EXPECT_THAT(refusal("gossip", {CompleteExchange{0, 2, 1}}), testing::HasSubstr("for worker 2"));
}

TEST_F(DecisionsTest, WorkersThatAreBusyAreRefused) {
  EXPECT_EQ(refusal("elastic", {Assign{0, 4}, Assign{0, 4}}),
            "the policy decided Assign for worker 0, which is busy");
  EXPECT_THAT(refusal("gossip", {Assign{0, 4}, Offer{0, 1, 1}}), testing::HasSubstr("is busy"));
}

TEST_F(DecisionsTest, MergesWhileAWorkerIsBusyAreRefused) {
  const Assign step{1, 4};
  EXPECT_EQ(refusal("elastic", {step, Merge{{0.5, 0.5}}}),
            "the policy decided Merge while worker 1 is busy");
  EXPECT_THAT(refusal("elastic", {step, ElasticAverage{0.5}}), testing::HasSubstr("is busy"));
  EXPECT_THAT(refusal("elastic", {step, Measure{}}), testing::HasSubstr("is busy"));
  EXPECT_THAT(refusal("gossip", {step, Average{}}), testing::HasSubstr("is busy"));
  Assign gradient = step;
  gradient.work = Work::gradient;
  EXPECT_THAT(refusal("sync", {gradient, Apply{{0.5, 0.5}}}), testing::HasSubstr("is busy"));
}

TEST_F(DecisionsTest, AssignmentsWithoutRowsOrWithoutARateAreRefused) {
  EXPECT_EQ(refusal("elastic", {Assign{0, 0}}),
            "the policy assigned 1 parts of 0 rows to worker 0");
  EXPECT_EQ(refusal("elastic", {Assign{0, 4, 0}}),
            "the policy assigned 0 parts of 4 rows to worker 0");
  EXPECT_EQ(refusal("elastic", {Assign{0, 4, 1, kNaN}}),
            "the policy assigned a learning rate factor of nan to worker 0");
}

TEST_F(DecisionsTest, WeightsThatDoNotFitTheWorkersAreRefused) {
  EXPECT_EQ(refusal("elastic", {Merge{{1}}}),
            "the policy decided Merge with 1 weights, but there are 2 workers");
  EXPECT_EQ(refusal("elastic", {Merge{{0.5, kNaN}}}),
            "the policy decided Merge with the weight nan");
  EXPECT_EQ(refusal("sync", {Apply{{0.5, 0.25, 0.25}}}),
            "the policy decided Apply with 3 weights, but there are 2 workers");
}

TEST_F(DecisionsTest, PushesThatWereNotMadeAreRefused) {
  EXPECT_EQ(refusal("asp", {Reject{0}}),
            "the policy decided Reject for worker 0, which has not pushed");
  EXPECT_EQ(refusal("asp", {ApplyPushes{{0}}}),
            "the policy decided ApplyPushes for worker 0, which has not pushed");
}

TEST_F(DecisionsTest, APeerDoesNotExchangeModelsWithItself) {
  EXPECT_EQ(refusal("gossip", {Offer{1, 1, 1}}),
            "the policy decided Offer of worker 1 with itself");
}

TEST_F(DecisionsTest, APolicyThatCausesTheSameEventForEverIsStopped) {
  const auto endless = testing::HasSubstr("its decisions cause the same events again");
  EXPECT_THAT(refusal_of_loop<Merged>("elastic", Merge{{0.5, 0.5}}), endless);
  EXPECT_THAT(refusal_of_loop<Measured>("elastic", Measure{}), endless);
  // Assigns all 10 rows, and then asks for more of them.
  class OutOfRowsAgain final : public Policy {
    Decisions on(const Event& event) override {
      if (std::holds_alternative<Finished>(event) || std::holds_alternative<OutOfRows>(event) ||
          std::holds_alternative<EpochBegan>(event)) {
        return {Assign{0, 4}};
      }
      return {};
    }
  } policy;
  EXPECT_THAT(error_of("elastic", policy), endless);
}

TEST_F(DecisionsTest, RowsThatThePolicyLeavesUntrainedAreCounted) {
  Once<EpochBegan> policy({Assign{0, 4}});
  const auto models = make_models(setup_, parse_strategy("elastic"));
  models->give(0, FloatBuffer(layout_of(setup_.network).size));
  const auto executor = make_wall_clock(*models, 2);
  Position position;
  Scheduler scheduler(plan_, policy, *models, *executor, traits_, timeline_);
  try {
    scheduler.run_epoch(position, go_on);
    FAIL() << "rows are left";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "the policy left rows of the epoch untrained: no worker is busy, and 4 of 10 rows "
                 "were assigned");
  }
}

TEST_F(DecisionsTest, ASingleWorkerHasNoPeersToSendAMessageTo) {
  const auto models = make_models(setup_, parse_strategy("sequential"));
  EXPECT_THROW(make_wall_clock(*models, 1)->send({}, 0), Error);
}

}  // namespace
}  // namespace evener
