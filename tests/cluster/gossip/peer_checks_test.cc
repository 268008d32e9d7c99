// Messages of a peer that would spoil the model or the timeouts of another.
#include "evener/cluster/gossip/peer_checks.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/cluster/gossip/peer_connection.h"

namespace evener {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

class NoChannel final : public Channel {
 public:
  void send(Message /*message*/) override {}
  void close(const std::string& /*why*/) override {}
};

const Network kPeerNetwork{.features = 3, .hidden = {1}, .labels = 2};

TEST(PeerChecks, AWeightMustBePositive) {
  const ModelUpdateLayout layout(kPeerNetwork);
  PeerEvent event;
  event.update.values.resize(layout.size());
  for (const double weight : {kNan, kInfinite, -1.0, 0.0}) {
    event.update.weight = weight;
    event.message.set_kind(wire::GossipMessage::OFFER);
    EXPECT_THAT(why_unusable(event, layout, true), testing::HasSubstr("weight")) << weight;
    EXPECT_EQ(why_unusable(event, layout, false), "") << "only push-sum uses it";
    event.message.set_kind(wire::GossipMessage::FINAL);
    EXPECT_THAT(why_unusable(event, layout, false), testing::HasSubstr("weight")) << weight;
  }
  event.update.weight = 0.5;
  EXPECT_EQ(why_unusable(event, layout, false), "");
  event.message.set_kind(wire::GossipMessage::OFFER);
  EXPECT_EQ(why_unusable(event, layout, true), "");
}

TEST(PeerChecks, AHeartbeatWithoutANumberOfSecondsEndsTheConnection) {
  const ModelUpdateLayout layout(kPeerNetwork);
  PeerEventQueue events;
  PeerConnection connection(std::make_shared<NoChannel>(), events, layout,
                            [](const wire::Head&) { return std::string(); });
  wire::Head hello;
  hello.mutable_peer_hello()->set_incarnation(7);
  connection.received(message_of(hello));
  wire::Head head;
  for (const double busy : {kNan, kInfinite, -1.0}) {
    head.mutable_peer_heartbeat()->set_busy(busy);
    EXPECT_THROW(connection.received(message_of(head)), Error) << busy;
  }
  head.mutable_peer_heartbeat()->set_busy(0.5);
  EXPECT_NO_THROW(connection.received(message_of(head)));
}

}  // namespace
}  // namespace evener
