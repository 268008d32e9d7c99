// Gossip peers on bad links, and with a peer that sends invalid messages.
#include <cmath>

#include "tests/cluster/gossip/gossip_peers.h"
#include "tests/cluster/transport/rough_transport.h"
#include "tests/sanitized.h"

namespace evener {
namespace {

using testing::HasSubstr;

class GossipOnBadLinks : public GossipPeers {};
class GossipFaults : public GossipPeerTest {};
EVENER_OVER_TRANSPORTS(GossipFaults);

// A message takes longer than the heartbeat timeout, and longer than any peer waits at the end.
TEST_F(GossipOnBadLinks, OnASlowLinkNoPeerIsLostAndNothingIsSentTwice) {
  if (kSanitized) GTEST_SKIP() << "what a peer does with so large a model takes too long here";
  constexpr std::uint32_t kFeatures = 375'000;  // a dozen chunks, and as many heartbeats
  work_.network.features = data_.feature_count = kFeatures;
  work_.data = TestWorker::print(data_);
  work_.start.resize(layout_of(work_.network).size);
  initialise(work_.network, 5, work_.start);
  work_.epochs = 0.1;
  silence_ = 6;  // a busy machine may let a thread wait for some seconds
  const std::size_t model = 4 * ModelUpdateLayout(work_.network).size();
  transport_ = std::make_shared<RoughTransport>(
      make_local_transport(), Roughness{.bytes_per_second = static_cast<double>(model) / 8});
  std::vector<std::unique_ptr<Running>> peers;
  for (int i = 0; i < 3; ++i) peers.push_back(start(i, {"a", "b", "c"}, "gossip:overlap=1"));
  std::uint64_t exchanges = 0, sent = 0;
  for (const auto& peer : peers) {
    peer->wait();
    exchanges += peer->result.exchanges + peer->result.declined;
    sent += peer->result.sent;
  }
  expect_same_models(peers);
  EXPECT_GT(exchanges, 0U);
  EXPECT_EQ(sent, (exchanges + 3 * 2) * model) << "offers, answers, and the last models";
}

TEST_F(GossipOnBadLinks, WithFrequentDisconnectsEveryMessageCountsOnce) {
  work_.epochs = 10;
  silence_ = 30;
  for (const char* strategy : {"gossip", "gossip:merge=pushsum:overlap=0",
                               "adaptive-gossip:rows=changed:eps-rows=0.05:warmup=5"}) {
    transport_ = std::make_shared<RoughTransport>(make_local_transport(), Roughness{.cuts = 0.05});
    std::vector<std::unique_ptr<Running>> peers;
    for (int i = 0; i < 3; ++i) peers.push_back(start(i, {"a", "b", "c"}, strategy, 2e-3));
    double weight = 0;
    std::uint64_t exchanges = 0;
    for (const auto& peer : peers) {
      peer->wait();
      weight += peer->weight;
      exchanges += peer->result.exchanges;
    }
    SCOPED_TRACE(strategy);
    expect_same_models(peers);
    EXPECT_NEAR(weight, 3, 1e-12) << "nothing is lost, or taken twice";
    EXPECT_GT(exchanges, 10U);
  }
}

TEST_P(GossipFaults, APeerIsLostSoonAfterItsConnectionEnds) {
  work_.epochs = 1e6;
  silence_ = 1000;
  const auto addresses = network_.free_addresses(2);
  auto puppet = std::make_unique<Puppet>(network_, addresses);
  auto peer = start(0, addresses, "gossip", 1e-3);
  puppet->send_hello(peer_hello(addresses));
  wire::PeerHeartbeat peer_heartbeat;
  peer_heartbeat.set_sees(1);
  puppet->say(peer_heartbeat);
  EXPECT_EQ(puppet->next().kind(), wire::GossipMessage::OFFER) << "which is not answered";
  puppet.reset();  // as if it were killed
  const auto given_up = [&] {
    const std::lock_guard lock(peer->mutex);
    return !peer->log.empty() && peer->log.back() == "peer 1: no heartbeat for 2 s";
  };
  for (const Stopwatch clock; !given_up() && clock.elapsed() < 30;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(given_up());
  peer->stop = true;
  peer->wait();
  EXPECT_EQ(peer->error, "");
}

TEST_P(GossipFaults, AModelThatIsNotFiniteOrMissingIsRefusedAndCounted) {
  work_.epochs = 1e6;
  const auto addresses = network_.free_addresses(2);
  Puppet puppet(network_, addresses);
  auto peer = start(0, addresses, "gossip:period=1000000", 1e-3);
  puppet.send_hello(peer_hello(addresses));
  ModelUpdate offer;
  offer.values.assign(ModelUpdateLayout(work_.network).size(), NAN);
  puppet.send(wire::GossipMessage::OFFER, 5, offer);
  const wire::GossipMessage answer = puppet.next();
  EXPECT_EQ(answer.kind(), wire::GossipMessage::DECLINE);
  EXPECT_EQ(answer.sequence(), 5U);
  puppet.send(wire::GossipMessage::OFFER, 6, {});
  const wire::GossipMessage second = puppet.next();
  EXPECT_EQ(second.kind(), wire::GossipMessage::DECLINE);
  EXPECT_EQ(second.sequence(), 6U);
  peer->stop = true;
  peer->wait();
  EXPECT_EQ(peer->error, "");
  EXPECT_EQ(peer->result.refused, 2U);
  for (std::size_t j = 0; j < peer->result.model.size(); ++j) {
    ASSERT_TRUE(std::isfinite(peer->result.model[j]));
  }
}

TEST_P(GossipFaults, DoesNotWaitAgainForAModelThatIsNotFinite) {
  work_.epochs = 0.2;
  silence_ = 1000;
  const auto addresses = network_.free_addresses(2);
  Puppet puppet(network_, addresses);
  ModelUpdate bad;
  bad.values.assign(ModelUpdateLayout(work_.network).size(), NAN);
  wire::PeerHeartbeat peer_heartbeat;
  peer_heartbeat.set_sees(1);

  auto late = start(0, addresses, "gossip:overlap=0");
  puppet.send_hello(peer_hello(addresses));
  peer_heartbeat.set_trained(1000);
  peer_heartbeat.set_training(60);
  puppet.say(peer_heartbeat);
  EXPECT_EQ(puppet.next().kind(), wire::GossipMessage::ASK);
  puppet.send(wire::GossipMessage::MODEL, 0, bad);
  late->wait();
  EXPECT_THAT(late->error, HasSubstr("no peer gives its model"));

  auto peer = start(0, addresses, "gossip:overlap=0");
  puppet.send_hello(peer_hello(addresses));
  peer_heartbeat.set_trained(0);
  puppet.say(peer_heartbeat);
  std::uint64_t answered = 0;
  wire::GossipMessage message = puppet.next();
  bad.places = ModelUpdate::Places::offered;
  for (; message.kind() == wire::GossipMessage::OFFER; message = puppet.next(), ++answered) {
    puppet.send(wire::GossipMessage::REPLY, message.sequence(), bad);
  }
  EXPECT_EQ(message.kind(), wire::GossipMessage::FINAL);
  bad.places = ModelUpdate::Places::all;
  puppet.send(wire::GossipMessage::FINAL, 0, bad);
  peer_heartbeat.set_has_all(true);
  puppet.say(peer_heartbeat);
  peer->wait();
  EXPECT_EQ(peer->error, "");
  EXPECT_GT(answered, 0U);
  EXPECT_EQ(peer->result.refused, answered + 1);
  EXPECT_EQ(peer->result.exchanges, 0U);
  EXPECT_EQ(peer->result.models, 1);
}

TEST_P(GossipFaults, DeclinedPushSumWeightIsReturned) {
  work_.epochs = 0.2;
  silence_ = 1000;
  const auto addresses = network_.free_addresses(2);
  Puppet puppet(network_, addresses);
  auto peer = start(0, addresses, "gossip:merge=pushsum:overlap=0");
  puppet.send_hello(peer_hello(addresses));
  wire::PeerHeartbeat peer_heartbeat;
  peer_heartbeat.set_sees(1);
  puppet.say(peer_heartbeat);
  int declined = 0;
  wire::GossipMessage message = puppet.next();
  for (; message.kind() == wire::GossipMessage::OFFER; message = puppet.next(), ++declined) {
    EXPECT_EQ(message.weight(), 0.5);
    puppet.send(wire::GossipMessage::DECLINE, message.sequence(), {});
  }
  EXPECT_GT(declined, 1);
  ASSERT_EQ(message.kind(), wire::GossipMessage::FINAL);
  EXPECT_EQ(message.weight(), 1);
  puppet.send(wire::GossipMessage::FINAL, 0, {});  // it cannot be used, which does not matter here
  peer_heartbeat.set_has_all(true);
  puppet.say(peer_heartbeat);
  peer->wait();
  EXPECT_EQ(peer->error, "");
  EXPECT_EQ(peer->weight, 1);
}

// A peer that was killed and started again finds its slot taken where its end is not known yet.
TEST_P(GossipFaults, ARefusedPeerTriesAgainAndRepeatsWhatWasLost) {
  work_.epochs = 1e6;
  silence_ = 1000;
  wire::PeerHeartbeat peer_heartbeat;
  peer_heartbeat.set_trained(1000);
  peer_heartbeat.set_training(60);
  for (const bool later : {true, false}) {
    const auto addresses = network_.free_addresses(2);
    Puppet puppet(network_, addresses);
    auto late = start(0, addresses, "gossip");
    puppet.send_hello(peer_hello(addresses));
    puppet.say(peer_heartbeat);
    EXPECT_EQ(puppet.next().kind(), wire::GossipMessage::ASK) << "which is ignored";
    puppet.refuse("the slot of peer 0 is taken", later);
    ASSERT_TRUE(puppet.gets_hello()) << "over a new connection";
    EXPECT_EQ(puppet.next().kind(), wire::GossipMessage::ASK);
    late->stop = true;
    late->wait();
    EXPECT_EQ(late->error, "");
  }
}

TEST_P(GossipFaults, ARestartedPeerIsAcceptedWhenItsPredecessorIsSilent) {
  work_.epochs = 1e6;
  silence_ = 1000;
  const auto addresses = network_.free_addresses(2);
  Puppet puppet(network_, addresses);
  auto peer = start(0, addresses, "gossip:period=1000000", 1e-3);
  puppet.send_hello(peer_hello(addresses));
  puppet.say({});
  const auto accepted = [&] {
    const std::lock_guard lock(peer->mutex);
    return std::count(peer->log.begin(), peer->log.end(), "peer 1 is there");
  };
  for (const Stopwatch clock; accepted() == 0 && clock.elapsed() < 20;) puppet.gets_hello(0.02);
  // Its predecessor is silent from now on.
  int refusals = 0;
  for (const Stopwatch clock; accepted() == 1 && clock.elapsed() < 20;) {
    Mailbox<wire::Head> answers;
    const auto next_process =
        network_.transport()->connect(addresses[0], std::make_shared<Messages>(answers));
    next_process->send(peer_hello(addresses, 8));
    const auto refusal = answers.get_within(0.2);
    if (!refusal) continue;
    ++refusals;
    EXPECT_THAT(refusal->refusal().why(), HasSubstr("the slot of peer 1 is taken"));
  }
  EXPECT_GT(refusals, 0);
  EXPECT_EQ(accepted(), 2);
  peer->stop = true;
}

TEST_P(GossipFaults, APeerWithAnotherProtocolIsRefused) {
  work_.epochs = 1e6;
  const auto addresses = network_.free_addresses(2);
  auto peer = start(0, addresses, "gossip");
  const std::string why = fmt::format("it has version {} of the protocol, this is version {}",
                                      kProtocol + 1, kProtocol);
  Message greets = peer_hello(addresses);
  wire::Head head;
  ASSERT_TRUE(head.ParseFromString(greets.head));
  head.mutable_peer_hello()->set_protocol(kProtocol + 1);
  const std::string refusal = "peer 1 was refused: " + why;
  const auto refused = [&] {
    const std::lock_guard lock(peer->mutex);
    return std::find(peer->log.begin(), peer->log.end(), refusal) != peer->log.end();
  };
  Mailbox<wire::Head> nothing, answers;
  std::shared_ptr<Channel> channel;
  for (const Stopwatch clock; !refused() && clock.elapsed() < 20;) {
    channel = network_.transport()->connect(addresses[0], std::make_shared<Messages>(nothing));
    channel->send(message_of(head));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_TRUE(refused());
  head.mutable_join_request()->set_protocol(kProtocol + 1);
  channel = network_.transport()->connect(addresses[0], std::make_shared<Messages>(answers));
  channel->send(message_of(head));
  const auto answer = answers.get_within(20);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->refusal().why(), why);
  peer->stop = true;
}

}  // namespace
}  // namespace evener
