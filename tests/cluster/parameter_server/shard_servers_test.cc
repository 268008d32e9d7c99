// A model that is sharded over servers equals one that the coordinator holds.
#include "evener/cluster/parameter_server/shard_servers.h"

#include <cmath>

#include "tests/cluster/cluster.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace evener {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(Shards, AreAPartitionOfTheVector) {
  for (const Input input : {Input::sparse, Input::dense}) {
    const Network network{.features = 11, .hidden = {7}, .labels = 5, .input = input};
    const std::size_t size = layout_of(network).size;
    for (const std::size_t count : {1U, 2U, 3U, 7U, 20U}) {
      std::vector<int> owners(size);
      std::size_t most = 0;
      for (const Shard& shard : shards_of(network, count)) {
        most = std::max(most, shard.size());
        ModelUpdateLayout(shard).for_places(true, {}, {}, [&](std::size_t at, std::size_t n) {
          for (std::size_t i = at; i < at + n; ++i) ++owners[i];
        });
      }
      EXPECT_EQ(owners, std::vector<int>(size, 1)) << count;
      EXPECT_LE(most, size / count + whole_shard(network).width + 1);
    }
  }
}

class ShardServersTest : public ClusterTest {
 protected:
  std::shared_ptr<ClusterCoordinator> begin(int workers, int servers, double evict = 10) {
    CoordinatorOptions options = options_for(2, workers);
    options.servers = servers;
    options.heartbeats.evict = evict;
    std::shared_ptr<ClusterCoordinator> nodes = coordinator(options);
    for (int i = 0; i < servers; ++i) {
      servers_.push_back(std::make_unique<TestServer>(address_of(*nodes)));
    }
    return nodes;
  }
  void expect_all_go() {
    for (auto& server : servers_) EXPECT_EQ(server->wait(), "");
    servers_.clear();
  }
  std::vector<std::unique_ptr<TestServer>> servers_;
};
EVENER_OVER_TRANSPORTS(ShardServersTest);

TEST_P(ShardServersTest, BspIsBitIdenticalForAnyNumberOfServers) {
  for (const int servers : {1, 2, 3}) {
    for (const char* strategy : {"bsp", "bsp:local-steps=3", "bsp:compress=fp16",
                                 "bsp:compress=top-k:top-k=0.05", "bsp:server-momentum=0.5"}) {
      const ClusterSetting setting{strategy, 2, Optimizer::adam};
      auto nodes = begin(2, servers);
      TestWorker one(data_, setting, address_of(*nodes), 0);
      TestWorker two(data_, setting, address_of(*nodes), 1);
      const auto result = train_engine(cluster_setup(setting, nodes), setting);
      EXPECT_EQ(result.parameters, train_without_network(data_, setting).parameters)
          << strategy << " with " << servers;
      EXPECT_GT(result.workers[0].bytes, 0U);
      nodes.reset();
      EXPECT_EQ(one.wait() + two.wait(), "") << strategy;
      expect_all_go();
    }
  }
}

TEST_P(ShardServersTest, AWorkerMayLeaveAndAnotherJoinDuringTheRun) {
  for (const char* strategy : {"bsp", "asp", "ssp", "dssp", "dasp"}) {
    const ClusterSetting setting{strategy, 2, Optimizer::sgd, 4};
    auto nodes = begin(3, 2);
    TestWorker one(data_, setting, address_of(*nodes), 0);
    TestWorker two(data_, setting, address_of(*nodes), 1);
    std::unique_ptr<TestWorker> three;
    const auto result = train_engine(cluster_setup(setting, nodes), setting, [&](std::size_t step) {
      if (step == 10) two.stop();
      if (step == 20) {
        three = std::make_unique<TestWorker>(data_, setting, address_of(*nodes), 2);
      }
      if (step == 40) two.wait();  // otherwise the run could end before
    });
    EXPECT_THAT(result.losses, Contains(HasSubstr("node 1: it was stopped by a signal")))
        << strategy;
    for (const float value : result.parameters) ASSERT_TRUE(std::isfinite(value));
    nodes.reset();
    EXPECT_EQ(one.wait(), "");
    EXPECT_EQ(three->wait(), "");
    expect_all_go();
  }
}

TEST_P(ShardServersTest, TheRunFailsWhenAServerIsLost) {
  const ClusterSetting setting{"asp", 2, Optimizer::sgd, 100};
  auto nodes = begin(2, 2);
  TestWorker one(data_, setting, address_of(*nodes), 0);
  TestWorker two(data_, setting, address_of(*nodes), 1);
  try {
    train_engine(cluster_setup(setting, nodes), setting, [&](std::size_t step) {
      if (step == 10) servers_[1]->stop();
    });
    FAIL() << "it went on";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("a shard of the model is lost: server "));
  }
  nodes.reset();
}

TEST_P(ShardServersTest, WaitingForMissingServersHasATimeout) {
  CoordinatorOptions options = options_for(1, 1);
  options.servers = 1;
  options.patience = 0.3;
  std::shared_ptr<ClusterCoordinator> nodes = coordinator(options);
  const ClusterSetting setting;
  try {
    train_engine(cluster_setup(setting, nodes), setting);
    FAIL() << "it began";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("0 of 1 servers after 0.3 s: start them with"));
  }
}

TEST_P(ShardServersTest, ACoordinatorThatHoldsTheModelRefusesServers) {
  CoordinatorOptions options = options_for(1, 1);
  std::shared_ptr<ClusterCoordinator> nodes = coordinator(options);
  TestServer server(address_of(*nodes));
  EXPECT_THAT(server.wait(), HasSubstr("keeps the model itself"));
  ShardServerOptions stranger;
  options.servers = 1;
  options.token = "secret";
  nodes = coordinator(options);
  EXPECT_THAT(TestServer(address_of(*nodes), stranger).wait(),
              HasSubstr("does not know the token"));
}

/// A worker that sends the messages of the test to the coordinator and to the one server.
TEST_P(ShardServersTest, TheServerRefusesAPushThatIsNotFiniteAndItsRowsAreTrainedAgain) {
  const ClusterSetting setting{"asp", 2, Optimizer::sgd, 2};
  auto nodes = begin(2, 1);
  TestWorker honest(data_, setting, address_of(*nodes), 0);
  std::thread bad([&] {
    const auto inbox = std::make_shared<TestInbox>();
    const auto channel = network_.transport()->connect(nodes->address(), inbox);
    wire::Head head;
    head.mutable_hello()->set_protocol(kProtocol);
    head.mutable_hello()->set_name("bad");
    head.mutable_hello()->set_identity("bad");
    head.mutable_hello()->set_rank(1);
    channel->send(message_of(head));
    const wire::Welcome welcome = inbox->head(wire::Head::kWelcome).welcome();
    const auto pulls = std::make_shared<TestInbox>();
    const auto server = network_.transport()->connect(welcome.servers(0), pulls);
    head.mutable_worker_hello()->set_protocol(kProtocol);
    head.mutable_worker_hello()->set_node(welcome.node());
    head.mutable_worker_hello()->set_generation(welcome.generation());
    head.mutable_worker_hello()->set_key(welcome.server_key());
    server->send(message_of(head));
    set_fingerprint(TestWorker::print(data_), *head.mutable_ready()->mutable_data());
    channel->send(message_of(head));
    const std::uint64_t sequence = pulls->head(wire::Head::kOrder).order().sequence();
    inbox->head(wire::Head::kOrder);
    const Network network = small_network(data_);
    const std::vector<float> values(layout_of(network).size, NAN);
    PayloadBuffer buffer;
    head.mutable_push()->set_sequence(sequence);
    head.mutable_push()->set_generation(welcome.generation());
    set_header(ModelUpdateFormat(network, {}).write({}, false, values, buffer.next()),
               *head.mutable_push()->mutable_push());
    server->send(message_of(head));
    for (auto& chunk : buffer.chunks(sequence)) server->send(std::move(chunk));
    channel->send(message_of(head));
    inbox->head(wire::Head::kOrder);  // it gets another
    channel->close("enough");
  });
  const auto result = train_engine(cluster_setup(setting, nodes), setting);
  bad.join();
  EXPECT_THAT(result.notes, Contains(HasSubstr("not finite")));
  for (const float value : result.parameters) ASSERT_TRUE(std::isfinite(value));
  nodes.reset();
  EXPECT_EQ(honest.wait(), "");
  expect_all_go();
}

/// The token alone does not make a process a worker: a server checks the key of the welcome.
TEST_P(ShardServersTest, AStrangerWithTheTokenDoesNotGetAWorkersConnection) {
  const ClusterSetting setting{"bsp", 2, Optimizer::adam};
  CoordinatorOptions options = options_for(2, 2);
  options.servers = 1;
  options.token = "secret";
  std::shared_ptr<ClusterCoordinator> nodes = coordinator(options);
  const std::string address = network_.free_addresses(1).front();
  ShardServerOptions served;
  served.token = options.token;
  TestServer server(address_of(*nodes), served, address);
  WorkerOptions worker;
  worker.token = options.token;
  TestWorker one(data_, setting, address_of(*nodes), 0, worker);
  TestWorker two(data_, setting, address_of(*nodes), 1, worker);
  const auto result = train_engine(cluster_setup(setting, nodes), setting, [&](std::size_t step) {
    if (step != 5) return;
    for (const std::uint64_t generation : {1, 2, 1000}) {
      for (const std::string& key : {std::string(), std::string(32, 'x')}) {
        const auto inbox = std::make_shared<TestInbox>();
        const auto stranger = network_.transport()->connect(address, inbox);
        wire::Head head;
        wire::WorkerHello& hello = *head.mutable_worker_hello();
        hello.set_protocol(kProtocol);
        hello.set_token(options.token);
        hello.set_generation(generation);
        hello.set_key(key);
        stranger->send(message_of(head));
        EXPECT_THAT(inbox->end(), HasSubstr("ended")) << generation;
      }
    }
  });
  EXPECT_THAT(result.losses, testing::IsEmpty());
  EXPECT_EQ(result.parameters, train_without_network(data_, setting).parameters);
  EXPECT_EQ(result.workers[0].rows + result.workers[1].rows, setting.epochs * data_.rows());
  nodes.reset();
  EXPECT_EQ(one.wait() + two.wait() + server.wait(), "");
}

}  // namespace
}  // namespace evener
