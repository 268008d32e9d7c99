// Processes that connect to a coordinator or a shard server and are not accepted.
#include <mutex>

#include "tests/cluster/cluster.h"
#include "tests/cluster/parameter_server/faulty_worker.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace evener {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kToken = "secret";

/// First messages that a coordinator or a server refuses or only answers.
std::vector<wire::Head> useless_hellos() {
  std::vector<wire::Head> hellos(6);
  hellos[0].mutable_hello()->set_protocol(kProtocol);
  hellos[0].mutable_hello()->set_token("guess");
  hellos[1].mutable_server_hello()->set_protocol(kProtocol);
  hellos[2].mutable_status_request()->set_token("guess");
  hellos[3].mutable_status_request()->set_token(kToken);
  hellos[4].mutable_peer_hello()->set_protocol(kProtocol);
  hellos[5].mutable_join_request()->set_protocol(kProtocol);
  return hellos;
}

class AdmissionTest : public ClusterTest {
 protected:
  CoordinatorOptions secured(int workers) const {
    CoordinatorOptions options = options_for(workers, workers);
    options.token = kToken;
    return options;
  }
  static bool is_refused(const std::string& why) {
    return why.find("cannot connect") != std::string::npos;
  }
  static WorkerOptions with_token() {
    WorkerOptions options;
    options.token = kToken;
    return options;
  }
};
EVENER_OVER_TRANSPORTS(AdmissionTest);

TEST_P(AdmissionTest, ASecondHelloOfAnyKindEndsTheConnection) {
  CoordinatorOptions options = secured(1);
  options.servers = 1;
  const auto nodes = coordinator(options);
  const std::string served = network_.free_addresses(1).front();
  ShardServerOptions server_options;
  server_options.token = kToken;
  TestServer server(address_of(*nodes), server_options, served);
  for (const auto& address : {nodes->address(), served}) {
    for (const auto& first : useless_hellos()) {
      for (const auto& second : {first, useless_hellos().front()}) {
        if (address == served && (first.has_peer_hello() || first.has_join_request())) continue;
        // The server may not listen yet.
        std::string why = "cannot connect";
        for (const Stopwatch watch; is_refused(why) && watch.elapsed() < kSoon;) {
          Stranger stranger({network_, address});
          stranger.channel->send(message_of(first));
          stranger.channel->send(message_of(second));
          why = stranger.inbox->end();
        }
        EXPECT_THAT(why, HasSubstr("ended")) << first.ShortDebugString();
      }
    }
  }
  server.stop();
  EXPECT_EQ(server.wait(), "");
}

TEST_P(AdmissionTest, RefusalsOfStrangersAreReportedOnceASecond) {
  std::mutex mutex;
  int lines = 0;
  CoordinatorOptions options = secured(1);
  options.say = [&](const std::string& text) {
    const std::lock_guard lock(mutex);
    if (text.find("does not know the token") != std::string::npos) ++lines;
  };
  const auto nodes = coordinator(options);
  constexpr int kStrangers = 100;
  const Stopwatch watch;
  for (int i = 0; i < kStrangers; ++i) {
    Stranger stranger(address_of(*nodes));
    stranger.hello(kProtocol, "guess");
    EXPECT_THAT(stranger.refusal(), HasSubstr("token"));
  }
  const std::lock_guard lock(mutex);
  EXPECT_GE(lines, 1);
  EXPECT_LE(lines, 1 + watch.elapsed());
}

/// Only gRPC can be reached by strangers.
class AdmissionDeadlineTest : public AdmissionTest {
 protected:
  AdmissionDeadlineTest() { network_ = TestNetwork(GetParam(), 0.5); }

  /// Whether the connection ends though the process sends heartbeats.
  static bool ends(Stranger& stranger) {
    wire::Head head;
    head.mutable_heartbeat();
    for (int i = 0; i < 1000; ++i) {
      if (stranger.inbox->ends_within(0.02)) return true;
      stranger.channel->send(message_of(head));
    }
    return false;
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AdmissionDeadlineTest);
INSTANTIATE_TEST_SUITE_P(Over, AdmissionDeadlineTest,
                         testing::ValuesIn(kThreadSanitized ? std::vector<TransportKind>{}
                                                            : std::vector{TransportKind::grpc}),
                         transport_name);

TEST_P(AdmissionDeadlineTest, ACoordinatorClosesOnlyWhatItDoesNotAccept) {
  CoordinatorOptions options = secured(2);
  options.heartbeats.evict = 1000;
  const std::shared_ptr<ClusterCoordinator> nodes = make_coordinator(options);
  Stranger waiting(address_of(*nodes));
  waiting.hello(kProtocol, kToken);
  waiting.inbox->head(wire::Head::kHeartbeat);
  for (const auto& hello : useless_hellos()) {
    Stranger stranger(address_of(*nodes));
    stranger.channel->send(message_of(hello));
    EXPECT_TRUE(ends(stranger)) << hello.ShortDebugString();
  }
  nodes->offer({{}, TestWorker::print(data_), 16});
  EXPECT_EQ(waiting.inbox->head(wire::Head::kWelcome).welcome().node(), 0U) << "it was kept";
}

TEST_P(AdmissionDeadlineTest, AServerClosesOnlyWhatItDoesNotAccept) {
  const ClusterSetting setting{"bsp", 2, Optimizer::sgd};
  CoordinatorOptions options = secured(2);
  options.servers = 1;
  std::shared_ptr<ClusterCoordinator> nodes = coordinator(options);
  const std::string address = network_.free_addresses(1).front();
  ShardServerOptions served;
  served.token = kToken;
  TestServer server(address_of(*nodes), served, address);
  TestWorker one(data_, setting, address_of(*nodes), 0, with_token());
  TestWorker two(data_, setting, address_of(*nodes), 1, with_token());
  const auto result = train_engine(cluster_setup(setting, nodes), setting, [&](std::size_t step) {
    if (step != 5) return;
    for (const std::size_t i : {0, 3}) {
      Stranger stranger({network_, address});
      stranger.channel->send(message_of(useless_hellos()[i]));
      EXPECT_THAT(stranger.refusal(), HasSubstr("this is a server"));
      EXPECT_THAT(stranger.inbox->end(), HasSubstr("ended"));
    }
  });
  EXPECT_THAT(result.losses, IsEmpty()) << "the connections of workers were kept";
  EXPECT_EQ(result.parameters, train_without_network(data_, setting).parameters);
  nodes.reset();
  EXPECT_EQ(one.wait() + two.wait() + server.wait(), "");
}

}  // namespace
}  // namespace evener
