// Workers that hang while their heartbeats go on, and connections that never become workers.
#include <atomic>
#include <optional>
#include <thread>

#include "tests/cluster/cluster.h"
#include "tests/cluster/parameter_server/faulty_worker.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/cluster/parameter_server/coordinator.h"

namespace evener {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class HungWorkerTest : public ClusterTest {};
EVENER_OVER_TRANSPORTS(HungWorkerTest);

TEST_P(HungWorkerTest, OthersTrainItsRows) {
  for (const char* strategy : {"bsp", "asp", "dasp"}) {
    const ClusterSetting setting{strategy, 2, Optimizer::sgd, 2};
    CoordinatorOptions options = options_for(2, 2);
    options.heartbeats = {0.05, 5, kSoon};
    options.stall.fixed = 1;
    std::shared_ptr<ClusterCoordinator> nodes = coordinator(options);
    TestWorker honest(data_, setting, address_of(*nodes), 0);
    std::thread hung([&] {
      FaultyWorker faulty(address_of(*nodes), data_);
      faulty.order();
      faulty.hang();
    });
    const auto result = train_engine(cluster_setup(setting, nodes), setting);
    hung.join();
    EXPECT_THAT(result.losses, Contains(HasSubstr("node 1: it hangs: heartbeats, but no progress")))
        << strategy;
    EXPECT_GE(result.workers[0].rows, 2 * data_.rows()) << strategy;
    EXPECT_EQ(result.workers[1].rows, 0U) << strategy;
    nodes.reset();
    EXPECT_EQ(honest.wait(), "");
  }
}

/// Interrupts a run when a worker hangs, and returns its position.
class InterruptedRun {
 public:
  InterruptedRun(const TestAddress& coordinator, const Dataset& data, int rank)
      : hung_([coordinator, &data, rank] {
          FaultyWorker faulty(coordinator, data, rank);
          faulty.order();
          interrupted_ = true;
          faulty.hang();
        }) {}
  ~InterruptedRun() { hung_.join(); }
  InterruptedRun(const InterruptedRun&) = delete;
  InterruptedRun& operator=(const InterruptedRun&) = delete;

  static bool interrupted() { return interrupted_; }
  static void reset() { interrupted_ = false; }

 private:
  static inline std::atomic<bool> interrupted_ = false;
  std::thread hung_;
};

TEST_P(HungWorkerTest, ASignalPausesTheRunAndNoRowIsLost) {
  for (const char* strategy : {"bsp", "asp", "dasp"}) {
    InterruptedRun::reset();
    const ClusterSetting setting{strategy, 2, Optimizer::sgd, 1};
    CoordinatorOptions options = options_for(2, 2);
    options.heartbeats = {0.05, 5, kSoon};
    options.interrupted = [] { return InterruptedRun::interrupted() ? 2 : 0; };
    options.grace = 0.1;
    std::shared_ptr<ClusterCoordinator> nodes = coordinator(options);
    TestWorker honest(data_, setting, address_of(*nodes), 0);
    InterruptedRun run(address_of(*nodes), data_, 1);
    std::optional<Engine> engine(std::in_place, cluster_setup(setting, nodes));
    engine->models().give(0, start_of(small_network(data_)));
    Position position;
    EXPECT_FALSE(engine->run_epoch(position, [](const StepReport&) {
      return !InterruptedRun::interrupted();
    })) << strategy;
    std::size_t rows = 0;
    for (const auto& worker : engine->timeline().totals()) rows += worker.rows;
    EXPECT_EQ(position.next_row, rows) << strategy;
    EXPECT_THAT(engine->take_dropped_workers(),
                Contains(HasSubstr("node 1: the run was interrupted")));
    engine->models().take(0);
    engine.reset();
    nodes.reset();
    EXPECT_EQ(honest.wait(), "") << strategy;
  }
}

TEST_P(HungWorkerTest, ASignalPausesARunWhoseOnlyWorkerHangs) {
  InterruptedRun::reset();
  const ClusterSetting setting{"bsp", 1, Optimizer::sgd, 1};
  CoordinatorOptions options = options_for(1, 1);
  options.heartbeats = {0.05, 5, kSoon};
  options.interrupted = [] { return InterruptedRun::interrupted() ? 2 : 0; };
  options.grace = 0.1;
  std::shared_ptr<ClusterCoordinator> nodes = coordinator(options);
  InterruptedRun run(address_of(*nodes), data_, 0);
  std::optional<Engine> engine(std::in_place, cluster_setup(setting, nodes));
  const FloatBuffer begin = start_of(small_network(data_));
  engine->models().give(0, start_of(small_network(data_)));
  Position position;
  EXPECT_FALSE(engine->run_epoch(position, [](const StepReport&) { return true; }));
  EXPECT_EQ(position.next_row, 0U) << "its rows are trained after a resume";
  const FloatBuffer end = engine->models().take(0);
  EXPECT_TRUE(std::equal(begin.data(), begin.data() + begin.size(), end.data()));
  engine.reset();
  nodes.reset();
}

TEST_P(HungWorkerTest, AfterASignalACheckpointDoesNotWaitForAWorkerThatHangsIdle) {
  std::atomic<int> signal = 0;
  const ClusterSetting setting{"asp", 2, Optimizer::adam, 1};
  CoordinatorOptions options = options_for(1, 2);
  options.heartbeats = {0.05, 5, kSoon};
  options.interrupted = [&] { return signal.load(); };
  options.grace = 0.1;
  std::shared_ptr<ClusterCoordinator> nodes = coordinator(options);
  TestWorker honest(data_, setting, address_of(*nodes), 0);
  std::optional<Engine> engine(std::in_place, cluster_setup(setting, nodes));
  engine->models().give(0, start_of(small_network(data_)));
  Position position;
  EXPECT_TRUE(engine->run_epoch(position, [](const StepReport&) { return true; }));
  FaultyWorker faulty(address_of(*nodes), data_);
  std::atomic<bool> ended = false;
  std::thread hung([&] {
    faulty.hang();
    ended = true;
  });
  signal = 2;
  // The first checkpoints may come before the coordinator knows that the worker is ready.
  while (!ended) {
    const KeptVectors kept = engine->models().keep();
    EXPECT_TRUE(kept.contains(kept_name(0, 1))) << "the worker that answers";
    EXPECT_FALSE(kept.contains(kept_name(1, 1)));
  }
  hung.join();
  engine.reset();
  nodes.reset();
  EXPECT_EQ(honest.wait(), "");
}

TEST_P(HungWorkerTest, TwoWorkersMayHaveOneName) {
  const ClusterSetting setting{"bsp", 2, Optimizer::sgd, 2};
  CoordinatorOptions options = options_for(2, 2);
  options.patience = 5;
  std::shared_ptr<ClusterCoordinator> nodes = coordinator(options);
  WorkerOptions same;
  same.name = "host:1";
  TestWorker one(data_, setting, address_of(*nodes), -1, same);
  TestWorker two(data_, setting, address_of(*nodes), -1, same);
  const auto result = train_engine(cluster_setup(setting, nodes), setting);
  EXPECT_THAT(result.losses, IsEmpty());
  EXPECT_GT(result.workers[0].rows, 0U);
  EXPECT_GT(result.workers[1].rows, 0U);
  nodes.reset();
  EXPECT_EQ(one.wait() + two.wait(), "");
}

TEST_P(HungWorkerTest, ASecondHelloEndsTheConnection) {
  for (const bool has_job : {true, false}) {
    const auto nodes =
        has_job ? coordinator(options_for(1, 1))
                : std::shared_ptr<ClusterCoordinator>(make_coordinator(options_for(1, 1)));
    Stranger twice(address_of(*nodes));
    twice.hello(kProtocol);
    twice.hello(kProtocol);
    EXPECT_THAT(twice.inbox->end(), HasSubstr("ended"));
  }
}

TEST_P(HungWorkerTest, AConnectionWithoutAHelloIsClosed) {
  CoordinatorOptions options = options_for(1, 1);
  options.heartbeats = {0.05, 0.1, 0.3};
  const auto nodes = coordinator(options);
  const Stranger silent(address_of(*nodes));
  EXPECT_THAT(silent.inbox->end(), HasSubstr("ended"));
}

TEST_P(HungWorkerTest, AWorkerThatIsNeverReadyLosesItsSlot) {
  for (const bool counts : {false, true}) {  // whether its heartbeats claim progress
    CoordinatorOptions options = options_for(1, 1);
    options.heartbeats = {0.05, 5, kSoon};
    options.stall.fixed = 0.3;
    const auto nodes = coordinator(options);
    Stranger idle(address_of(*nodes));
    idle.hello(kProtocol);
    idle.inbox->head(wire::Head::kWelcome);
    bool ended = false;
    for (std::uint64_t beat = 1; !ended && beat < 1000; ++beat) {
      wire::Head head;
      head.mutable_heartbeat()->set_progress(counts ? beat : 1);
      idle.channel->send(message_of(head));
      ended = idle.inbox->ends_within(0.02);
    }
    EXPECT_TRUE(ended) << (counts ? "with" : "without") << " progress";
  }
}

TEST_P(HungWorkerTest, AWorkerWithoutAnIdentityIsRefused) {
  const auto nodes = coordinator(options_for(1, 1));
  Stranger nameless(address_of(*nodes));
  wire::Head head;
  head.mutable_hello()->set_protocol(kProtocol);
  nameless.channel->send(message_of(head));
  EXPECT_THAT(nameless.refusal(), HasSubstr("no identity"));
}

}  // namespace
}  // namespace evener
