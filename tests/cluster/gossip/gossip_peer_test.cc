// Gossip peers: they train, join, leave and accept others.
#include <cmath>
#include <limits>

#include "tests/cluster/gossip/gossip_peers.h"

#include "evener/cluster/gossip/join_request.h"
#include "evener/cluster/parameter_server/status_request.h"
#include "evener/runtime/plan.h"

namespace evener {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

TEST(GossipWork, TheLastStepOfAPassHasTheRowsThatAreLeft) {
  GossipWork work;
  work.rows.resize(9);
  work.batch = 3;  // of two peers one has rows 0, 2, 4, 6, 8 and the other four
  const std::vector<std::vector<std::uint64_t>> rows{{0, 3, 5, 8, 10}, {0, 3, 4, 7, 8}};
  for (std::size_t rank = 0; rank < 2; ++rank) {
    for (std::uint64_t steps = 0; steps < rows[rank].size(); ++steps) {
      EXPECT_EQ(rows_trained(work, rank, 2, steps), rows[rank][steps]) << rank << " " << steps;
    }
  }
  EXPECT_EQ(epochs_done(work, {2, 2}), 1);
  EXPECT_EQ(epochs_done(work, {6, 6}), 3);
}

EVENER_OVER_TRANSPORTS(GossipPeerTest);

TEST_P(GossipPeerTest, AllTrainAndEndWithTheSameModel) {
  for (const char* strategy : {"gossip", "adaptive-gossip:warmup=5:k-max=10", "gossip:overlap=0",
                               "gossip:merge=pushsum", "gossip:rows=changed:peer-choice=ring",
                               "gossip:compress=fp16", "gossip:compress=top-k:top-k=0.1",
                               "adaptive-gossip:rows=changed:compress=fp16:warmup=5:k-max=10"}) {
    const auto addresses = network_.free_addresses(3);
    std::vector<std::unique_ptr<Running>> peers;
    for (int i = 0; i < 3; ++i) peers.push_back(start(i, addresses, strategy, 1e-3));
    std::uint64_t exchanges = 0;
    for (auto& peer : peers) {
      peer->wait();
      ASSERT_EQ(peer->error, "") << strategy;
      EXPECT_EQ(peer->result.models, 3) << strategy;
      exchanges += peer->result.exchanges;
      if (peer->result.exchanges > 20) {  // with push-sum, one peer of an exchange has both models
        EXPECT_GT(peer->result.measured, 0U) << strategy;
        EXPECT_GT(peer->result.squared_distance, 0) << strategy;
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

TEST_P(GossipPeerTest, APeerMayBeSeveralDevices) {
  work_.epochs = 5;
  const auto addresses = network_.free_addresses(2);
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

TEST_P(GossipPeerTest, OthersContinueWhenAPeerLeavesAndALatePeerFetchesAModel) {
  work_.epochs = 200;
  const auto addresses = network_.free_addresses(3);
  auto first = start(0, addresses, "gossip", 1e-3);
  auto second = start(1, addresses, "gossip", 1e-3);
  auto third = start(2, addresses, "gossip", 1e-3);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  first->stop = true;  // the first of the list, as by a signal
  first->wait();
  EXPECT_EQ(first->result.signal, 2);
  auto again = start(0, addresses, "gossip", 1e-3);
  for (auto* peer : {again.get(), second.get(), third.get()}) {
    peer->wait();
    EXPECT_EQ(peer->error, "");
    EXPECT_EQ(peer->result.models, 3);
  }
  EXPECT_THAT(again->log, Contains(HasSubstr("joined late, with the model of peer")));
}

TEST_P(GossipPeerTest, APeerThatLeavesReportsItAndIsNotWaitedFor) {
  work_.epochs = 40;
  silence_ = 30;
  const auto addresses = network_.free_addresses(4);
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
    EXPECT_THAT(peer.log, Contains("peer 0 has left: it was stopped by a signal"));
    EXPECT_THAT(peer.log, Contains("peer 1 has left: the disk is full"));
    EXPECT_THAT(peer.log, Each(Not(HasSubstr("no heartbeat"))));
  }
}

TEST_P(GossipPeerTest, WhenAllPeersAreStoppedNoneIsLost) {
  work_.epochs = 1e6;
  const auto addresses = network_.free_addresses(2);
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

TEST_F(GossipPeers, ALongStepDoesNotDelayPeersThatNeedNotWait) {
  work_.epochs = 2;
  auto slow = start(0, {"a", "b"}, "gossip:overlap=inf", 0.3);
  auto fast = start(1, {"a", "b"}, "gossip:overlap=inf", 1e-3);
  for (auto* peer : {slow.get(), fast.get()}) {
    peer->wait();
    EXPECT_EQ(peer->error, "");
  }
  EXPECT_GT(fast->result.exchanges, 0U);
  EXPECT_GT(fast->result.steps[1], 5 * fast->result.steps[0]);
}

TEST_F(GossipPeers, ALossThatIsNotFiniteMeansThatTheTrainingDiverged) {
  work_.start.assign(work_.start.size(), std::numeric_limits<float>::quiet_NaN());
  GossipPeerOptions options;
  options.addresses = {"alone"};
  options.transport = transport_;
  const auto device = make_device("cpu:1");
  PeerReplica replica(device->make_replica(work_.network, {}), work_.network, data_, {});
  EXPECT_THROW(run_gossip_peer(options, work_, replica), DivergedError);
}

TEST_P(GossipPeerTest, RefusesAPeerWithAnotherListDataOrOptionsOrATakenSlot) {
  work_.epochs = 300;
  work_.options["hidden"] = "8";
  const auto addresses = network_.free_addresses(3);
  const std::vector<std::string> both{addresses[0], addresses[1]};
  auto first = start(0, both, "gossip", 1e-3);
  auto second = start(1, both, "gossip", 1e-3);
  // When both have joined, with rank 1.
  const auto why_refused = [&](auto change) {
    GossipPeerOptions options;
    options.self = 1;
    options.addresses = both;
    options.listen = addresses[2];
    options.transport = transport_;
    options.patience = 20;
    GossipWork work = work_;
    change(options, work);
    Training training;
    training.optimizer = Optimizer::sgd;
    const auto device = make_device("cpu:1");
    PeerReplica replica(device->make_replica(work_.network, training), work_.network, data_, {});
    try {
      run_gossip_peer(options, work, replica);
    } catch (const Error& problem) {
      return std::string(problem.what());
    }
    return std::string("let in");
  };
  const auto begun = [&] {
    const std::lock_guard lock(first->mutex);
    return !first->log.empty();
  };
  for (const Stopwatch clock; !begun() && clock.elapsed() < 20;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(why_refused([](auto& /*options*/, auto& work) { work.data.checksum = 99; }),
            "peer 0 refuses this one: its data is not the data of the run");
  EXPECT_EQ(why_refused([](auto& /*options*/, auto& work) { work.options["hidden"] = "64"; }),
            "peer 0 refuses this one: its --hidden is 64, here it is 8");
  EXPECT_EQ(
      why_refused([&](auto& options, auto& /*work*/) { options.addresses[1] = addresses[2]; }),
      "peer 0 refuses this one: its list of --peers is another");
  EXPECT_EQ(why_refused([](auto& /*options*/, auto& /*work*/) {}),
            "peer 0 refuses this one: the slot of peer 1 is taken: give another --rank");
  for (auto* peer : {first.get(), second.get()}) {
    peer->wait();
    EXPECT_EQ(peer->error, "");
    EXPECT_EQ(peer->result.models, 2);
    EXPECT_THAT(peer->log, Each(Not(HasSubstr("has left"))));
  }
}

/// Why a join request is refused; empty: it was answered with the job.
std::string why_not_told(const GossipPeerOptions& options) {
  try {
    ask_peers(options);
  } catch (const Error& problem) {
    return problem.what();
  }
  return "";
}

TEST_P(GossipPeerTest, AJoiningProcessReceivesTheJobUnlessItsSlotIsTaken) {
  work_.options = {{"hidden", "8"}, {"strategy", "gossip"}};
  work_.data_options = {{"data", "/where/it/is"}};
  const auto addresses = network_.free_addresses(3);
  GossipPeerOptions asks;
  asks.self = 2;
  asks.addresses = addresses;
  asks.transport = transport_;
  asks.patience = 0.2;
  EXPECT_THAT(why_not_told(asks), HasSubstr("no peer has answered for 0.2 s"));
  asks.patience = 20;
  auto first = start(0, addresses, "gossip");
  const Job job = ask_peers(asks);
  EXPECT_EQ(job.options, (std::map<std::string, std::string>{
                             {"data", "/where/it/is"}, {"hidden", "8"}, {"strategy", "gossip"}}));
  EXPECT_EQ(job.data, work_.data);
  EXPECT_EQ(job.batch, work_.batch);
  EXPECT_THAT([&] { ask_status(*transport_, addresses[0], ""); },
              testing::ThrowsMessage<Error>(
                  HasSubstr("this is a peer of a run without a coordinator (--peers)")));

  const auto asked_as = [&](auto change) {
    GossipPeerOptions other = asks;
    change(other);
    return why_not_told(other);
  };
  EXPECT_THAT(asked_as([](auto& other) { other.self = 0; }),
              HasSubstr("the slot of peer 0 is taken: give another --rank"));
  EXPECT_THAT(asked_as([](auto& other) { other.token = "guessed"; }),
              HasSubstr("it does not know the token"));
  EXPECT_THAT(asked_as([](auto& other) {
                other.addresses.pop_back();
                other.self = 1;
              }),
              HasSubstr("its list of --peers is another"));

  // When the second has joined, the first has received its hello.
  asks.self = 1;
  EXPECT_EQ(why_not_told(asks), "");
  auto second = start(1, addresses, "gossip");
  std::string why;
  for (const Stopwatch clock; why.empty() && clock.elapsed() < 20;) why = why_not_told(asks);
  EXPECT_THAT(why, HasSubstr("the slot of peer 1 is taken"));
  first->stop = second->stop = true;
}

}  // namespace
}  // namespace evener
