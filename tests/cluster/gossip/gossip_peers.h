// Gossip peers for tests, each on its own thread, and a puppet that sends the messages of the test.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cluster/cluster.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/cluster/gossip/gossip_peer.h"
#include "evener/cluster/gossip/peer_checks.h"
#include "evener/nn/initialise.h"
#include "evener/runtime/engine_replica.h"

namespace evener {

/// A peer from its start to its end.
inline GossipResult run_gossip_peer(
    const GossipPeerOptions& options, const GossipWork& work, PeerReplica& replica,
    const std::function<void()>& after_step = [] {}) {
  const auto peer = make_gossip_peer(options, work, replica);
  try {
    peer->join();
    peer->train([&] {
      after_step();
      return true;
    });
  } catch (const std::exception& problem) {
    peer->leave(problem.what());
    throw;
  }
  peer->finish();
  return std::move(peer->result());
}

class GossipPeers : public testing::Test {
 protected:
  explicit GossipPeers(TransportKind kind = TransportKind::local, double admission = 10)
      : data_(make_data()), network_(kind, admission), transport_(network_.transport()) {
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
    double weight = 0;  // of push-sum, at the end
    std::string error;
    std::mutex mutex;
    std::vector<std::string> log;
    std::atomic<bool> stop{false}, fail{false};
    std::thread thread;

    void wait() {
      if (thread.joinable()) thread.join();
    }
    ~Running() {
      stop = true;  // where a test has failed
      wait();
    }
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
          options.rule = choice.gossip();
          options.patience = 20;
          options.silence = silence_;
          options.transport = transport_;
          options.interrupted = [&running] { return running.stop ? 2 : 0; };
          options.say = [&running](const std::string& text) {
            const std::lock_guard lock(running.mutex);
            running.log.push_back(text);
          };
          const auto after_step = [per_step, &running] {
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
            running.result = run_gossip_peer(options, work_, replica, after_step);
            running.weight = replica.weight();
          } catch (const std::exception& problem) {
            running.error = problem.what();
          }
        });
    return running;
  }

  /// Several devices as one replica, with their own strategy.
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

  /// The hello of peer 1 of 2.
  Message peer_hello(const std::vector<std::string>& addresses,
                     std::uint64_t incarnation = 7) const {
    GossipPeerOptions options;
    options.self = 1;
    options.addresses = addresses;
    return message_of(hello_of(options, work_, incarnation, 0));
  }

  void expect_same_models(const std::vector<std::unique_ptr<Running>>& peers) {
    const FloatBuffer& first = peers.front()->result.model;
    for (const auto& peer : peers) {
      ASSERT_EQ(peer->error, "");
      EXPECT_EQ(peer->result.models, static_cast<int>(peers.size()));
      EXPECT_THAT(peer->log, testing::Each(testing::Not(testing::HasSubstr("no heartbeat"))));
      ASSERT_EQ(peer->result.model.size(), first.size());
      for (std::size_t j = 0; j < first.size(); ++j) ASSERT_EQ(peer->result.model[j], first[j]);
    }
  }

  Dataset data_;
  GossipWork work_;
  TestNetwork network_;
  std::shared_ptr<Transport> transport_;  // of the peers that a test starts
  Seconds silence_ = 3;
};

/// Tests of peers over each transport.
class GossipPeerTest : public GossipPeers, public testing::WithParamInterface<TransportKind> {
 protected:
  explicit GossipPeerTest(double admission = 10) : GossipPeers(GetParam(), admission) {}
};

/// Puts hellos, refusals and messages that arrive into a queue.
class Messages final : public Handler {
 public:
  explicit Messages(Mailbox<wire::Head>& queue) : queue_(queue) {}
  void received(Message message) override {
    wire::Head head = head_of(message);
    if (head.has_gossip_message() || head.has_peer_hello() || head.has_refusal())
      queue_.put(std::move(head));
  }
  void ended(const std::string& /*why*/) override {}

 private:
  Mailbox<wire::Head>& queue_;
};

/// Peer 1 of 2, which sends the messages of the test.
class Puppet {
 public:
  Puppet(const TestNetwork& network, const std::vector<std::string>& addresses)
      : addresses_(addresses), transport_(network.transport()) {
    listener_ = transport_->listen(addresses[1], [this](std::shared_ptr<Channel> from_peer) {
      from_peer_ = std::move(from_peer);
      return std::make_shared<Messages>(messages_);
    });
  }
  /// Whether the other peer sends a hello within this time.
  bool gets_hello(Seconds seconds = 20) {
    std::optional<wire::Head> head;
    do {
      head = messages_.get_within(seconds);
    } while (head && !head->has_peer_hello());
    return head.has_value();
  }
  /// Refuses the last hello. `later`: only for now.
  void refuse(const std::string& why, bool later) {
    wire::Head head;
    head.mutable_refusal()->set_why(why);
    head.mutable_refusal()->set_later(later);
    from_peer_->send(message_of(head));
  }
  /// Waits until the other peer listens.
  void send_hello(Message peer_hello) {
    if (!gets_hello()) throw Error("no hello came");
    channel_ = transport_->connect(addresses_[0], std::make_shared<Messages>(nothing_));
    channel_->send(std::move(peer_hello));
  }
  void say(const wire::PeerHeartbeat& peer_heartbeat) {
    wire::Head head;
    *head.mutable_peer_heartbeat() = peer_heartbeat;
    channel_->send(message_of(head));
  }
  void send(wire::GossipMessage::Kind kind, std::uint64_t sequence, const ModelUpdate& update) {
    wire::Head head;
    head.mutable_gossip_message()->set_kind(kind);
    head.mutable_gossip_message()->set_sequence(sequence);
    const auto bytes = std::make_shared<std::vector<std::byte>>();
    set_header(write_update(update, *bytes), *head.mutable_gossip_message()->mutable_update());
    channel_->send(message_of(head));
    for (auto& chunk : chunks_of(bytes, sequence)) channel_->send(std::move(chunk));
  }
  /// The next event from the other peer.
  wire::GossipMessage next() {
    for (;;) {
      const auto head = messages_.get_within(20);
      if (!head) throw Error("no message comes");
      if (head->has_gossip_message()) return head->gossip_message();
    }
  }

 private:
  std::vector<std::string> addresses_;
  Mailbox<wire::Head> messages_, nothing_;
  std::shared_ptr<Transport> transport_;
  std::unique_ptr<Listener> listener_;
  std::shared_ptr<Channel> channel_;
  std::shared_ptr<Channel> from_peer_;  // that the other peer has opened last
};

}  // namespace evener
