// Coordinator and workers: the same model as without a network, while workers join and leave.
#include "evener/cluster/parameter_server/coordinator.h"

#include <cmath>
#include <filesystem>

#include "tests/cluster/cluster.h"
#include "tests/cluster/parameter_server/faulty_worker.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/cluster/gossip/join_request.h"
#include "evener/cluster/parameter_server/status_request.h"

namespace evener {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class CoordinatorTest : public ClusterTest {
 protected:
  std::size_t rows_trained(const ClusterResult& result) const {
    std::size_t rows = 0;
    for (const auto& worker : result.workers) rows += worker.rows;
    return rows;
  }
  static WorkerOptions slow() {
    WorkerOptions options;
    options.speed = 0.5;
    return options;
  }
  static WorkerOptions named(const std::string& name) {
    WorkerOptions options;
    options.name = name;
    return options;
  }
  static WorkerOptions impatient() {
    WorkerOptions options;
    options.patience = 0.2;
    return options;
  }
};
EVENER_OVER_TRANSPORTS(CoordinatorTest);

TEST_P(CoordinatorTest, AWorkerOfARunThatFailedHasFailedToo) {
  for (const bool fails : {false, true}) {
    const ClusterSetting setting{"bsp", 1, Optimizer::sgd};
    std::shared_ptr<ClusterCoordinator> nodes = coordinator(options_for(1, 1));
    TestWorker worker(data_, setting, address_of(*nodes), 0);
    train_engine(cluster_setup(setting, nodes), setting);
    if (fails) nodes->fail("the disk is full");
    nodes.reset();
    EXPECT_EQ(worker.wait(), "");
    EXPECT_EQ(worker.code(), fails ? 1 : 0);
  }
}

TEST_P(CoordinatorTest, BspIsBitIdenticalToOneProcess) {
  for (const char* strategy : {"bsp", "bsp:local-steps=3", "bsp:compress=fp16",
                               "bsp:compress=top-k:top-k=0.1", "bsp:server-momentum=0.5"}) {
    for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::adam}) {
      const ClusterSetting setting{strategy, 3, optimizer};
      std::shared_ptr<ClusterCoordinator> nodes = coordinator(options_for(3, 3));
      std::vector<std::unique_ptr<TestWorker>> workers;
      for (int i = 0; i < 3; ++i) {
        workers.push_back(std::make_unique<TestWorker>(data_, setting, address_of(*nodes), i));
      }
      const auto result = train_engine(cluster_setup(setting, nodes), setting);
      EXPECT_EQ(result.parameters, train_without_network(data_, setting).parameters) << strategy;
      nodes.reset();
      for (auto& worker : workers) EXPECT_EQ(worker->wait(), "");
    }
  }
}

TEST_P(CoordinatorTest, EveryStrategyTrainsEveryRowOnce) {
  for (const char* strategy : {"bsp", "asp", "ssp:s=0", "dssp", "dasp", "dasp:beta=0"}) {
    const ClusterSetting setting{strategy};
    std::shared_ptr<ClusterCoordinator> nodes = coordinator(options_for(2, 2));
    TestWorker one(data_, setting, address_of(*nodes), 0);
    TestWorker two(data_, setting, address_of(*nodes), 1, slow());
    const auto result = train_engine(cluster_setup(setting, nodes), setting);
    std::uint64_t rejected = 0;
    for (const auto& worker : result.workers) rejected += worker.rejected;
    if (rejected == 0) {
      EXPECT_EQ(rows_trained(result), 2 * data_.rows()) << strategy;
    }
    EXPECT_GT(result.workers[0].bytes, 0U);
    nodes.reset();
    EXPECT_EQ(one.wait() + two.wait(), "") << strategy;
  }
}

TEST_P(CoordinatorTest, AWorkerMayLeaveAndAnotherJoinDuringTheRun) {
  for (const char* strategy : {"bsp", "asp", "ssp", "dssp", "dasp"}) {
    const ClusterSetting setting{strategy, 2, Optimizer::sgd, 4};
    std::shared_ptr<ClusterCoordinator> nodes = coordinator(options_for(2, 3));
    TestWorker one(data_, setting, address_of(*nodes), 0);
    TestWorker two(data_, setting, address_of(*nodes), 1);
    std::unique_ptr<TestWorker> three;
    const auto result = train_engine(cluster_setup(setting, nodes), setting, [&](std::size_t step) {
      if (step == 10) two.stop();
      if (step == 20) {
        three = std::make_unique<TestWorker>(data_, setting, address_of(*nodes), 2);
      }
      // Only after it has joined: otherwise the run would be over.
      if (step == 40) two.wait();
    });
    EXPECT_THAT(result.losses, Contains(HasSubstr("node 1: it was stopped by a signal")))
        << strategy;
    EXPECT_GE(rows_trained(result), 4 * data_.rows());
    nodes.reset();
    EXPECT_EQ(one.wait(), "");
    EXPECT_EQ(three->wait(), "");
  }
}

TEST_P(CoordinatorTest, ARunWithoutWorkersWaitsForOne) {
  const ClusterSetting setting{"bsp", 1, Optimizer::sgd, 3};
  std::shared_ptr<ClusterCoordinator> nodes = coordinator(options_for(1, 1));
  TestWorker first(data_, setting, address_of(*nodes), 0);
  std::unique_ptr<TestWorker> second;
  std::thread replace;
  const auto result = train_engine(cluster_setup(setting, nodes), setting, [&](std::size_t step) {
    if (step != 5) return;
    first.stop();
    replace = std::thread([&] {
      first.wait();
      second =
          std::make_unique<TestWorker>(data_, setting, address_of(*nodes), 0, named("another"));
    });
  });
  replace.join();
  EXPECT_THAT(result.notes, Contains(HasSubstr("node 0 has joined")));
  nodes.reset();
  EXPECT_EQ(second->wait(), "");
}

TEST_P(CoordinatorTest, TooFewWorkersIsAnErrorAfterTheTimeout) {
  CoordinatorOptions options = options_for(2, 2);
  options.patience = 0.3;
  std::shared_ptr<ClusterCoordinator> nodes = coordinator(options);
  const ClusterSetting setting;
  TestWorker alone(data_, setting, address_of(*nodes), 0);
  try {
    train_engine(cluster_setup(setting, nodes), setting);
    FAIL();
  } catch (const Error& problem) {
    EXPECT_THAT(problem.what(), HasSubstr("--wait-seconds"));
  }
  nodes.reset();
  EXPECT_EQ(alone.wait(), "");
}

TEST_P(CoordinatorTest, AWorkerWithoutACoordinatorFails) {
  const ClusterSetting setting;
  std::string address;
  {
    const auto nodes = make_coordinator(options_for(1, 1));
    address = nodes->address();
  }
  TestWorker worker(data_, setting, {network_, address}, 0, impatient());
  EXPECT_THAT(worker.wait(), HasSubstr("no coordinator"));
}

TEST_P(CoordinatorTest, ClientsWithoutTheTokenOrProtocolAreRefused) {
  CoordinatorOptions options = options_for(1, 1);
  options.token = "secret";
  const auto nodes = coordinator(options);
  Stranger old(address_of(*nodes)), unknown(address_of(*nodes)), other_data(address_of(*nodes));
  old.hello(kProtocol + 1, "secret");
  EXPECT_THAT(old.refusal(), HasSubstr("version"));
  unknown.hello(kProtocol, "guess");
  EXPECT_THAT(unknown.refusal(), HasSubstr("token"));
  other_data.hello(kProtocol, "secret");
  other_data.inbox->head(wire::Head::kWelcome);
  wire::Head ready;
  ready.mutable_ready()->mutable_data()->set_rows(7);
  other_data.channel->send(message_of(ready));
  EXPECT_THAT(other_data.refusal(), HasSubstr("is not the data of the run"));
}

TEST_P(CoordinatorTest, AMalformedMessageEndsTheConnection) {
  const auto nodes = coordinator(options_for(1, 1));
  Stranger garbage(address_of(*nodes)), early(address_of(*nodes)), twisted(address_of(*nodes));
  garbage.channel->send({"\xFF\xFF\xFF", {}, nullptr});
  EXPECT_THAT(garbage.inbox->end(), HasSubstr("ended"));
  wire::Head push;
  push.mutable_push()->set_sequence(1);
  early.channel->send(message_of(push));
  EXPECT_THAT(early.inbox->end(), HasSubstr("ended"));
  wire::Head welcome;
  welcome.mutable_welcome();
  twisted.channel->send(message_of(welcome));
  EXPECT_THAT(twisted.inbox->end(), HasSubstr("ended"));
}

TEST_P(CoordinatorTest, AWorkerThatWaitsForTheRunToBeginGetsHeartbeats) {
  const auto nodes = make_coordinator(options_for(1, 1));  // without a job yet
  Stranger early(address_of(*nodes));
  early.hello(kProtocol);
  EXPECT_NO_THROW(early.inbox->head(wire::Head::kHeartbeat));
  nodes->offer({{}, TestWorker::print(data_), 16});
  EXPECT_NO_THROW(early.inbox->head(wire::Head::kWelcome));
}

TEST_P(CoordinatorTest, AWorkerThatHangsBeforeItIsReadyLosesItsSlot) {
  CoordinatorOptions options = options_for(1, 1);
  options.heartbeats = {0.05, 0.1, 0.3};
  const auto nodes = coordinator(options);
  Stranger hanging(address_of(*nodes));
  hanging.hello(kProtocol);
  hanging.inbox->head(wire::Head::kWelcome);
  EXPECT_THAT(hanging.inbox->end(), HasSubstr("ended"));
  // The coordinator may detect the end a little later, and puts off a client that connects before.
  bool welcome = false;
  for (int tries = 0; !welcome && tries < 200; ++tries) {
    Stranger next(address_of(*nodes));
    next.hello(kProtocol);
    for (bool answered = false; !answered;) {
      const wire::Head head = head_of(next.inbox->message());
      welcome = head.has_welcome();
      answered = welcome || head.has_refusal();
      if (head.has_refusal()) {
        EXPECT_TRUE(head.refusal().later()) << head.refusal().why();
      }
    }
  }
  EXPECT_TRUE(welcome);
}

TEST_P(CoordinatorTest, StatusNeedsTheToken) {
  CoordinatorOptions options = options_for(1, 1);
  options.token = "secret";
  const auto nodes = coordinator(options);
  nodes->set_status(R"({"epoch":3})");
  const std::string address = nodes->address();
  const auto& transport = network_.transport();
  EXPECT_EQ(ask_status(*transport, address, "secret"), R"({"workers_there":0,"epoch":3})");
  EXPECT_THROW(ask_status(*transport, address, ""), Error);
}

TEST_P(CoordinatorTest, APeerIsToldThatThisIsNoPeer) {
  const auto nodes = coordinator(options_for(1, 1));
  GossipPeerOptions asks;
  asks.addresses = {nodes->address(), network_.free_addresses(1).front()};
  asks.self = 1;
  asks.transport = network_.transport();
  EXPECT_THAT([&] { ask_peers(asks); }, testing::ThrowsMessage<Error>(testing::HasSubstr(
                                            "peer 0 refuses this one: this is a coordinator")));
}

TEST_P(CoordinatorTest, InvalidPushesAreRefusedCountedAndTrainedAgain) {
  struct Case {
    const char* what;
    float value;
    std::size_t lie;
    const char* reason;
  };
  for (const Case& c :
       {Case{"not finite", NAN, 0, "not finite"}, Case{"infinite", INFINITY, 0, "not finite"},
        Case{"a wrong shape", 0, 4, "bytes for"},
        Case{"4 GB", 0, std::size_t{4} << 30, "bytes for"}}) {
    const ClusterSetting setting{"asp", 2, Optimizer::sgd, 2};
    std::shared_ptr<ClusterCoordinator> nodes = coordinator(options_for(2, 2));
    TestWorker honest(data_, setting, address_of(*nodes), 0);
    std::thread bad([&] {
      FaultyWorker faulty(address_of(*nodes), data_);
      faulty.push(faulty.order(), c.value, {.bytes = c.lie, .past = 0, .half = false});
      faulty.order();  // it gets another order
      faulty.leave();
    });
    const auto result = train_engine(cluster_setup(setting, nodes), setting);
    bad.join();
    EXPECT_THAT(result.notes, Contains(HasSubstr(c.reason))) << c.what;
    EXPECT_EQ(result.workers[1].rejected, 1U) << c.what;
    EXPECT_EQ(result.workers[0].rows, 2 * data_.rows()) << c.what;
    for (const float value : result.parameters) ASSERT_TRUE(std::isfinite(value));
    nodes.reset();
    EXPECT_EQ(honest.wait(), "");
  }
}

TEST_P(CoordinatorTest, RepeatedAndStalePushesDoNothing) {
  const ClusterSetting setting{"asp", 2, Optimizer::sgd, 20};
  std::shared_ptr<ClusterCoordinator> nodes = coordinator(options_for(2, 2));
  TestWorker honest(data_, setting, address_of(*nodes), 0);
  std::thread bad([&] {
    FaultyWorker faulty(address_of(*nodes), data_);
    const std::uint64_t first = faulty.order();
    faulty.push(first, 1e6F, {.bytes = 0, .past = 1, .half = false});  // of a generation before
    faulty.push(first + 7, 1e6F);                                      // of no order
    faulty.push(first, 0);                                             // the right one
    const std::uint64_t second = faulty.order();
    faulty.push(first, 1e6F);  // repeated
    faulty.push(second, 0);
    faulty.push(second, 1e6F);  // repeated at once
    faulty.push(faulty.order(), 0);
    faulty.order();  // all earlier messages have been handled
    faulty.leave();
  });
  const auto result = train_engine(cluster_setup(setting, nodes), setting);
  bad.join();
  EXPECT_THAT(result.notes, testing::Not(Contains(HasSubstr("refused"))));
  EXPECT_EQ(nodes->ignored(), 4U);
  for (const float value : result.parameters) ASSERT_LT(std::abs(value), 1e4F);
  nodes.reset();
  EXPECT_EQ(honest.wait(), "");
}

TEST_P(CoordinatorTest, AnIncompletePushOfALostWorkerIsDropped) {
  const ClusterSetting setting{"asp", 2, Optimizer::sgd, 2};
  std::shared_ptr<ClusterCoordinator> nodes = coordinator(options_for(2, 2));
  TestWorker honest(data_, setting, address_of(*nodes), 0);
  std::thread bad([&] {
    FaultyWorker dying(address_of(*nodes), data_);
    dying.push(dying.order(), 1e6F, {.bytes = 0, .past = 0, .half = true});
    dying.wait();
    dying.leave();
  });
  const auto result = train_engine(cluster_setup(setting, nodes), setting);
  bad.join();
  EXPECT_EQ(result.workers[0].rows, 2 * data_.rows());
  EXPECT_EQ(result.workers[1].rows, 0U);
  // And the next worker in the slot starts with a push of zeros.
  for (const float value : result.parameters) ASSERT_LT(std::abs(value), 1e4F);
  nodes.reset();
  EXPECT_EQ(honest.wait(), "");
}

std::size_t entries_of(const char* folder) {
  const std::filesystem::directory_iterator all(folder);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST_P(CoordinatorTest, AHundredJoinsAndLeavesLeakNothing) {
  const ClusterSetting setting{"asp", 1, Optimizer::sgd};
  std::shared_ptr<ClusterCoordinator> nodes = coordinator(options_for(1, 2));
  TestWorker steady(data_, setting, address_of(*nodes), 0);
  std::size_t files = 0, threads = 0;
  std::atomic<int> visits = 0;
  std::jthread churn([&](const std::stop_token& stop) {
    while (visits < 100 && !stop.stop_requested()) {
      TestWorker visitor(data_, setting, address_of(*nodes), 1,
                         named(fmt::format("{}", visits.load())));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      visitor.stop();
      EXPECT_EQ(visitor.wait(), "");
      if (++visits == 10) {
        files = entries_of("/proc/self/fd");
        threads = entries_of("/proc/self/task");
      }
    }
  });
  std::optional<Engine> engine(std::in_place, cluster_setup(setting, nodes));
  engine->models().give(0, FloatBuffer(layout_of(small_network(data_)).size));
  Position position;
  for (std::uint64_t epoch = 0; visits < 100 && epoch < 100'000; ++epoch) {
    ASSERT_TRUE(engine->run_epoch(position, go_on));
    position = {position.step, epoch + 1, 0, 0};
  }
  churn.request_stop();
  churn.join();
  EXPECT_EQ(visits, 100);
  // gRPC keeps a varying number of its own.
  EXPECT_LE(entries_of("/proc/self/fd"), files + 10);
  EXPECT_LE(entries_of("/proc/self/task"), threads + 10);
  engine.reset();
  nodes.reset();
  EXPECT_EQ(steady.wait(), "");
}

}  // namespace
}  // namespace evener
