// Processes that connect to a gossip peer and are not accepted.
#include <cmath>
#include <deque>

#include "tests/cluster/gossip/gossip_peers.h"
#include "tests/sanitized.h"

namespace evener {
namespace {

using testing::HasSubstr;

/// First messages that a peer refuses or only answers.
std::vector<wire::Head> useless_peer_hellos() {
  std::vector<wire::Head> hellos(5);
  hellos[0].mutable_peer_hello()->set_protocol(kProtocol + 1);
  hellos[0].mutable_peer_hello()->set_rank(1);
  hellos[0].mutable_peer_hello()->set_incarnation(9);
  hellos[1].mutable_join_request()->set_protocol(kProtocol + 1);
  hellos[2].mutable_hello()->set_protocol(kProtocol);
  hellos[3].mutable_status_request();
  hellos[4].mutable_server_hello()->set_protocol(kProtocol);
  return hellos;
}

struct PeerStranger {
  PeerStranger(const TestNetwork& network, const std::string& address)
      : channel(network.transport()->connect(address, inbox)) {}
  void send(const wire::Head& head) { channel->send(message_of(head)); }

  std::shared_ptr<TestInbox> inbox = std::make_shared<TestInbox>();
  std::shared_ptr<Channel> channel;
};

class GossipAdmission : public GossipPeerTest {
 protected:
  explicit GossipAdmission(double admission = 10) : GossipPeerTest(admission) {
    work_.epochs = 1e6;
    silence_ = 1000;
  }
  static wire::GossipMessage answer_to_a_bad_offer(Puppet& puppet, const GossipWork& work) {
    ModelUpdate offer;
    offer.values.assign(ModelUpdateLayout(work.network).size(), NAN);
    puppet.send(wire::GossipMessage::OFFER, 5, offer);
    return puppet.next();
  }
};
EVENER_OVER_TRANSPORTS(GossipAdmission);

TEST_P(GossipAdmission, ASecondHelloOfAnyKindEndsTheConnection) {
  const auto addresses = network_.free_addresses(2);
  Puppet puppet(network_, addresses);
  const auto peer = start(0, addresses, "gossip:period=1000000", 1e-3);
  puppet.send_hello(peer_hello(addresses));
  for (const auto& first : useless_peer_hellos()) {
    PeerStranger stranger(network_, addresses[0]);
    stranger.send(first);
    stranger.inbox->head(wire::Head::kRefusal);
    stranger.send(first);
    EXPECT_THAT(stranger.inbox->end(), HasSubstr("ended")) << first.ShortDebugString();
  }
  PeerStranger twice(network_, addresses[0]);
  const Message accepted = peer_hello(addresses);
  twice.channel->send(accepted);
  twice.channel->send(accepted);
  EXPECT_THAT(twice.inbox->end(), HasSubstr("ended"));
  EXPECT_EQ(answer_to_a_bad_offer(puppet, work_).kind(), wire::GossipMessage::DECLINE);
  peer->stop = true;
  peer->wait();
  EXPECT_EQ(peer->error, "");
}

/// Only gRPC can be reached by strangers.
class GossipAdmissionDeadline : public GossipAdmission {
 protected:
  GossipAdmissionDeadline() : GossipAdmission(kSeconds) {}

 private:
  // A machine under heavy load accepts a connection later than one that is idle.
  static constexpr double kSeconds = 5;
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GossipAdmissionDeadline);
INSTANTIATE_TEST_SUITE_P(Over, GossipAdmissionDeadline,
                         testing::ValuesIn(kThreadSanitized ? std::vector<TransportKind>{}
                                                            : std::vector{TransportKind::grpc}),
                         transport_name);

TEST_P(GossipAdmissionDeadline, APeerClosesOnlyWhatItDoesNotAccept) {
  const auto addresses = network_.free_addresses(2);
  Puppet puppet(network_, addresses);
  const auto peer = start(0, addresses, "gossip:period=1000000", 1e-3);
  puppet.send_hello(peer_hello(addresses));
  std::deque<PeerStranger> strangers;  // they wait for the same deadline
  for (const auto& hello : useless_peer_hellos()) {
    strangers.emplace_back(network_, addresses[0]).send(hello);
  }
  for (auto& stranger : strangers) {
    stranger.inbox->head(wire::Head::kRefusal);
    EXPECT_THAT(stranger.inbox->end(), HasSubstr("ended"));
  }
  EXPECT_EQ(answer_to_a_bad_offer(puppet, work_).kind(), wire::GossipMessage::DECLINE)
      << "its connection was kept";
  peer->stop = true;
  peer->wait();
  EXPECT_EQ(peer->error, "");
}

}  // namespace
}  // namespace evener
