// Peers without a coordinator, each on a thread of its own, over real connections.
#include "evener/cluster/gossip_peer.h"

#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>

#include "tests/cluster/cluster.h"
#include "tests/device/random_data.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/cluster/peer_enquiry.h"
#include "evener/cluster/peer_mail.h"
#include "evener/nn/initialise.h"
#include "evener/runtime/engine_replica.h"

namespace evener {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

/// Ports that are free now.
std::vector<std::string> free_addresses(int count) {
  class Nobody final : public Handler {
    void received(Message /*message*/) override {}
    void ended(const std::string& /*why*/) override {}
  };
  std::vector<std::unique_ptr<Listener>> listeners;
  std::vector<std::string> addresses;
  for (int i = 0; i < count; ++i) {
    listeners.push_back(make_grpc_transport()->listen(
        "127.0.0.1:0",
        [](const std::shared_ptr<Channel>& /*channel*/) { return std::make_shared<Nobody>(); }));
    addresses.push_back(listeners.back()->address());
  }
  return addresses;
}

class GossipPeerTest : public testing::Test {
 protected:
  GossipPeerTest() : data_(make_data()) {
    work_.network.features = data_.feature_count;
    work_.network.labels = data_.label_count;
    work_.network.hidden = {8};
    work_.data = TestWorker::print(data_);
    for (std::uint32_t row = 0; row < data_.rows(); ++row) work_.rows.push_back(row);
    work_.batch = 10;
    work_.epochs = 20;
    work_.schedule.learning_rate = 0.1F;
    work_.start.resize(layout_of(work_.network).size);
    initialise(work_.network, 5, work_.start);
  }
  static Dataset make_data() {
    Random random(3);
    return random_data(random, 500, 40, 12);
  }

  struct Running {
    GossipResult result;
    std::string error;
    std::mutex mutex;
    std::vector<std::string> said;
    std::atomic<bool> stop{false}, fail{false};
    std::thread thread;

    void wait() {
      if (thread.joinable()) thread.join();
    }
    ~Running() { wait(); }
  };
  std::unique_ptr<Running> start(int rank, const std::vector<std::string>& addresses,
                                 const std::string& strategy, Seconds per_step = 0,
                                 const std::string& inside = "") {
    auto running = std::make_unique<Running>();
    running->thread =
        std::thread([this, rank, addresses, strategy, per_step, inside, &running = *running] {
          const StrategyChoice choice = parse_strategy(strategy);
          GossipPeerOptions options;
          options.self = rank;
          options.addresses = addresses;
          options.rule = gossip_rule(choice.values);
          options.patience = 20;
          options.silence = silence_;
          if (transport_) options.transport = transport_;
          options.interrupted = [&running] { return running.stop ? 2 : 0; };
          options.say = [&running](const std::string& text) {
            const std::lock_guard lock(running.mutex);
            running.said.push_back(text);
          };
          options.progress = [per_step, &running](double, const GossipResult&) {
            if (running.fail) throw Error("the disk is full");
            std::this_thread::sleep_for(std::chrono::duration<double>(per_step));
          };
          Training training;
          training.optimizer = Optimizer::sgd;
          const auto device = make_device("cpu:1");
          PeerReplica replica(inside.empty() ? device->make_replica(work_.network, training)
                                             : two_devices(inside, training),
                              work_.network, data_, peer_options(choice));
          try {
            running.result = run_gossip_peer(options, work_, replica);
          } catch (const std::exception& problem) {
            running.error = problem.what();
          }
        });
    return running;
  }

  /// As one, by a strategy of their own.
  std::unique_ptr<Replica> two_devices(const std::string& strategy,
                                       const Training& training) const {
    EngineSetup setup;
    setup.network = work_.network;
    setup.training = training;
    setup.plan.data = &data_;
    setup.strategy = parse_strategy(strategy);
    setup.batch = work_.batch;
    for (int i = 0; i < 2; ++i) setup.devices.push_back(make_device("cpu:1"));
    return make_engine_replica(std::move(setup));
  }

  /// Of one who only says that it is peer 1 of 2.
  Message greeting() const {
    GossipPeerOptions options;
    options.self = 1;
    options.addresses.resize(2);
    return message_of(greeting_of(options, work_, 7));
  }

  Dataset data_;
  GossipWork work_;
  std::shared_ptr<Transport> transport_;  // null: gRPC
  Seconds silence_ = 3;
};

TEST_F(GossipPeerTest, AllTrainAndEndWithTheSameModel) {
  for (const char* strategy : {"gossip", "adaptive-gossip:warmup=5:k-max=10", "gossip:overlap=0",
                               "gossip:merge=pushsum", "gossip:rows=changed:peer-choice=ring",
                               "gossip:compress=fp16", "gossip:compress=top-k:top-k=0.1",
                               "adaptive-gossip:rows=changed:compress=fp16:warmup=5:k-max=10"}) {
    const auto addresses = free_addresses(3);
    std::vector<std::unique_ptr<Running>> peers;
    for (int i = 0; i < 3; ++i) peers.push_back(start(i, addresses, strategy, 1e-3));
    std::uint64_t exchanges = 0;
    for (auto& peer : peers) {
      peer->wait();
      ASSERT_EQ(peer->error, "") << strategy;
      EXPECT_EQ(peer->result.models, 3) << strategy;
      exchanges += peer->result.exchanges;
      if (peer->result.exchanges > 20) {  // of push-sum half of them see both models
        EXPECT_GT(peer->result.met, 0U) << strategy;
        EXPECT_GT(peer->result.apart, 0) << strategy;
      }
      const auto& first = peers[0]->result.model;
      ASSERT_EQ(peer->result.model.size(), first.size());
      for (std::size_t j = 0; j < first.size(); ++j) {
        ASSERT_EQ(peer->result.model[j], first[j]) << strategy << " " << j;
      }
    }
    EXPECT_GT(exchanges, 5U) << strategy;
    std::uint64_t steps = 0;
    for (const std::uint64_t own : peers[0]->result.steps) steps += own;
    EXPECT_GE(steps * work_.batch, 20 * data_.rows()) << strategy;
    double moved = 0;
    for (std::size_t j = 0; j < work_.start.size(); ++j) {
      moved = std::max<double>(moved, std::abs(peers[0]->result.model[j] - work_.start[j]));
    }
    EXPECT_GT(moved, 0.01) << strategy;
  }
}

TEST_F(GossipPeerTest, APeerMayBeSeveralDevices) {
  work_.epochs = 5;
  const auto addresses = free_addresses(2);
  auto one = start(0, addresses, "adaptive-gossip:warmup=5:k-max=10", 1e-3);
  auto several = start(1, addresses, "adaptive-gossip:warmup=5:k-max=10", 1e-3, "elastic");
  for (auto* peer : {one.get(), several.get()}) {
    peer->wait();
    ASSERT_EQ(peer->error, "");
    EXPECT_EQ(peer->result.models, 2);
    EXPECT_GT(peer->result.exchanges, 0U);
  }
  for (const std::uint64_t own : one->result.steps) EXPECT_GT(own, 0U);
  for (std::size_t j = 0; j < work_.start.size(); ++j) {
    ASSERT_EQ(one->result.model[j], several->result.model[j]) << j;
  }
}

TEST_F(GossipPeerTest, OneThatGoesStopsNobodyAndOneThatComesLateFetchesAModel) {
  work_.epochs = 60;
  const auto addresses = free_addresses(3);
  auto first = start(0, addresses, "gossip", 1e-3);
  auto second = start(1, addresses, "gossip", 1e-3);
  auto third = start(2, addresses, "gossip", 1e-3);
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  first->stop = true;  // the first of the list, as by a signal
  first->wait();
  EXPECT_EQ(first->result.signal, 2);
  auto again = start(0, addresses, "gossip", 1e-3);
  for (auto* peer : {again.get(), second.get(), third.get()}) {
    peer->wait();
    EXPECT_EQ(peer->error, "");
    EXPECT_EQ(peer->result.models, 3);
  }
  EXPECT_THAT(again->said, Contains(HasSubstr("joined late, with the model of peer")));
}

TEST_F(GossipPeerTest, WhoLeavesSaysSoAndIsNotWaitedFor) {
  work_.epochs = 40;
  silence_ = 30;
  const auto addresses = free_addresses(4);
  std::vector<std::unique_ptr<Running>> peers;
  for (int i = 0; i < 4; ++i) peers.push_back(start(i, addresses, "gossip", 1e-3));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  peers[0]->stop = true;
  peers[1]->fail = true;
  for (auto& peer : peers) peer->wait();
  EXPECT_EQ(peers[1]->error, "the disk is full");
  for (const int stayed : {2, 3}) {
    const Running& peer = *peers[static_cast<std::size_t>(stayed)];
    EXPECT_EQ(peer.error, "");
    EXPECT_EQ(peer.result.models, 2);
    EXPECT_EQ(peer.result.lost, (std::vector<bool>{true, true, false, false}));
    EXPECT_THAT(peer.said, Contains("peer 0 has left: it was told to go"));
    EXPECT_THAT(peer.said, Contains("peer 1 has left: the disk is full"));
    EXPECT_THAT(peer.said, Each(Not(HasSubstr("no sign of life"))));
  }
}

TEST_F(GossipPeerTest, WhereAllAreToldToGoNobodyIsLost) {
  work_.epochs = 1e6;
  const auto addresses = free_addresses(2);
  std::vector<std::unique_ptr<Running>> peers;
  for (int i = 0; i < 2; ++i) peers.push_back(start(i, addresses, "gossip", 1e-3));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  for (auto& peer : peers) {
    peer->stop = true;
    peer->wait();
    EXPECT_EQ(peer->error, "");
    EXPECT_EQ(peer->result.lost, (std::vector<bool>{false, false}));
  }
}

/// Puts greetings and letters that come into a queue.
class Letters final : public Handler {
 public:
  explicit Letters(Mailbox<wire::Head>& queue) : queue_(queue) {}
  void received(Message message) override {
    wire::Head head = head_of(message);
    if (head.has_letter() || head.has_greeting()) queue_.put(std::move(head));
  }
  void ended(const std::string& /*why*/) override {}

 private:
  Mailbox<wire::Head>& queue_;
};

TEST_F(GossipPeerTest, AModelThatIsNotFiniteOrNotThereIsRefusedAndCounted) {
  work_.epochs = 1e6;
  const auto addresses = free_addresses(2);
  Mailbox<wire::Head> letters, nothing;
  const auto listener =
      make_grpc_transport()->listen(addresses[1], [&](const std::shared_ptr<Channel>& /*channel*/) {
        return std::make_shared<Letters>(letters);
      });
  auto peer = start(0, addresses, "gossip:period=1000000", 1e-3);
  ASSERT_TRUE(letters.get_within(20)) << "its greeting: it listens";
  const auto channel =
      make_grpc_transport()->connect(addresses[0], std::make_shared<Letters>(nothing));
  channel->send(greeting());
  wire::Head head;
  Parcel offer;
  offer.values.assign(ParcelMap(work_.network).size(), NAN);
  const auto bytes = std::make_shared<std::vector<std::byte>>();
  write_parcel(offer, *bytes);
  wire::PeerLetter& letter = *head.mutable_letter();
  letter.set_kind(wire::PeerLetter::OFFER);
  letter.set_sequence(5);
  set_header(offer, *letter.mutable_parcel());
  channel->send(message_of(head));
  for (auto& chunk : chunks_of(bytes, 5)) channel->send(std::move(chunk));
  const auto answer = letters.get_within(20);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->letter().kind(), wire::PeerLetter::DECLINE);
  EXPECT_EQ(answer->letter().sequence(), 5U);
  letter.set_sequence(6);  // and one without any numbers
  letter.clear_parcel();
  channel->send(message_of(head));
  const auto second = letters.get_within(20);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->letter().kind(), wire::PeerLetter::DECLINE);
  EXPECT_EQ(second->letter().sequence(), 6U);
  peer->stop = true;
  peer->wait();
  EXPECT_EQ(peer->error, "");
  EXPECT_EQ(peer->result.refused, 2U);
  for (std::size_t j = 0; j < peer->result.model.size(); ++j) {
    ASSERT_TRUE(std::isfinite(peer->result.model[j]));
  }
}

TEST_F(GossipPeerTest, OneWhoseConnectionHasEndedIsSoonGivenUp) {
  work_.epochs = 1e6;
  silence_ = 1000;
  const auto addresses = free_addresses(2);
  Mailbox<wire::Head> letters, nothing;
  auto listener =
      make_grpc_transport()->listen(addresses[1], [&](const std::shared_ptr<Channel>& /*channel*/) {
        return std::make_shared<Letters>(letters);
      });
  auto peer = start(0, addresses, "gossip", 1e-3);
  ASSERT_TRUE(letters.get_within(20)) << "its greeting: it listens";
  auto channel = make_grpc_transport()->connect(addresses[0], std::make_shared<Letters>(nothing));
  channel->send(greeting());
  wire::Head pulse;
  pulse.mutable_pulse()->set_sees(1);
  channel->send(message_of(pulse));
  ASSERT_TRUE(letters.get_within(20)) << "an offer, which nobody answers";
  listener.reset();  // as if it were killed
  channel.reset();
  const auto given_up = [&] {
    const std::lock_guard lock(peer->mutex);
    return !peer->said.empty() && peer->said.back() == "peer 1: no sign of life for 2 s";
  };
  for (const Stopwatch clock; !given_up() && clock.elapsed() < 30;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(given_up());
  peer->stop = true;
  peer->wait();
  EXPECT_EQ(peer->error, "");
}

TEST_F(GossipPeerTest, WhoseListOrDataIsAnotherIsRefused) {
  const auto addresses = free_addresses(2);
  auto one = start(0, addresses, "gossip");
  GossipWork other = work_;
  other.data.checksum = 99;
  std::vector<std::string> said;
  GossipPeerOptions options;
  options.self = 1;
  options.addresses = addresses;
  options.patience = 1;
  options.say = [&](const std::string& text) { said.push_back(text); };
  Training training;
  training.optimizer = Optimizer::sgd;
  const auto device = make_device("cpu:1");
  PeerReplica replica(device->make_replica(work_.network, training), work_.network, data_, {});
  EXPECT_THROW(run_gossip_peer(options, other, replica), Error);
  EXPECT_THAT(said, Contains(HasSubstr("peer 0 was refused: its data is not the data of the run")));
  other = work_;
  other.options["hidden"] = "64";
  try {
    run_gossip_peer(options, other, replica);
    ADD_FAILURE() << "another network was let in";
  } catch (const Error& problem) {
    EXPECT_THAT(problem.what(),
                HasSubstr("peer 0 was refused: its --hidden is missing, here it is 64"));
  }
  one->stop = true;
}

/// Why one who asks what is trained is refused; empty: it was told.
std::string why_not_told(const GossipPeerOptions& options) {
  try {
    ask_peers(options);
  } catch (const Error& problem) {
    return problem.what();
  }
  return "";
}

TEST_F(GossipPeerTest, WhoWouldJoinIsToldWhatIsTrainedUnlessItsPlaceIsTaken) {
  work_.options = {{"hidden", "8"}, {"strategy", "gossip"}};
  work_.data_options = {{"data", "/where/it/is"}};
  const auto addresses = free_addresses(3);
  GossipPeerOptions asks;
  asks.self = 2;
  asks.addresses = addresses;
  asks.patience = 0.2;
  EXPECT_THAT(why_not_told(asks), HasSubstr("no peer has answered for 0.2 s"));
  asks.patience = 20;
  auto first = start(0, addresses, "gossip");
  const Job job = ask_peers(asks);
  EXPECT_EQ(job.options, (std::map<std::string, std::string>{
                             {"data", "/where/it/is"}, {"hidden", "8"}, {"strategy", "gossip"}}));
  EXPECT_EQ(job.data, work_.data);
  EXPECT_EQ(job.batch, work_.batch);

  const auto asked_as = [&](auto change) {
    GossipPeerOptions other = asks;
    change(other);
    return why_not_told(other);
  };
  EXPECT_THAT(asked_as([](auto& other) { other.self = 0; }),
              HasSubstr("the place of peer 0 is taken: give another --rank"));
  EXPECT_THAT(asked_as([](auto& other) { other.token = "guessed"; }),
              HasSubstr("it does not know the token"));
  EXPECT_THAT(asked_as([](auto& other) {
                other.addresses.pop_back();
                other.self = 1;
              }),
              HasSubstr("its list of --peers is another"));

  // When the second has come, the first one knows it.
  asks.self = 1;
  EXPECT_EQ(why_not_told(asks), "");
  auto second = start(1, addresses, "gossip");
  std::string why;
  for (const Stopwatch clock; why.empty() && clock.elapsed() < 20;) why = why_not_told(asks);
  EXPECT_THAT(why, HasSubstr("the place of peer 1 is taken"));
  first->stop = second->stop = true;
}

}  // namespace
}  // namespace evener
