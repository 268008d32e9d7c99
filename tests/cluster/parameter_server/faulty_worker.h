// Clients of a coordinator that send the messages of a test.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "tests/cluster/cluster.h"
#include <fmt/format.h>

namespace evener {

/// A client that sends the messages of the test.
struct Stranger {
  explicit Stranger(const TestAddress& coordinator)
      : inbox(std::make_shared<TestInbox>()),
        channel(coordinator.network.transport()->connect(coordinator.address, inbox)) {}

  void hello(std::uint32_t protocol, const std::string& token = "", int rank = 0) {
    wire::Head head;
    head.mutable_hello()->set_protocol(protocol);
    head.mutable_hello()->set_token(token);
    head.mutable_hello()->set_name("a stranger");
    head.mutable_hello()->set_identity(fmt::format("stranger {}", ++strangers));
    head.mutable_hello()->set_rank(rank);
    channel->send(message_of(head));
  }
  std::string refusal() { return inbox->head(wire::Head::kRefusal).refusal().why(); }

  std::shared_ptr<TestInbox> inbox;
  std::shared_ptr<Channel> channel;
  static inline std::atomic<int> strangers = 0;  // so many have sent a hello
};

/// A worker that answers orders as the test wants, next to a regular worker.
class FaultyWorker {
 public:
  FaultyWorker(const TestAddress& coordinator, const Dataset& data, int rank = 1)
      : stranger_(coordinator), data_(data) {
    stranger_.hello(kProtocol, "", rank);
    generation_ = stranger_.inbox->head(wire::Head::kWelcome).welcome().generation();
    wire::Head ready;
    set_fingerprint(TestWorker::print(data), *ready.mutable_ready()->mutable_data());
    stranger_.channel->send(message_of(ready));
  }
  /// Waits for an order and returns its sequence number.
  std::uint64_t order() { return stranger_.inbox->head(wire::Head::kOrder).order().sequence(); }
  struct Lie {
    std::size_t bytes = 0;   // that the header declares in addition
    std::uint64_t past = 0;  // generations ago
    bool half = false;       // of it is sent
  };
  /// Pushes this value everywhere in the dense part.
  void push(std::uint64_t sequence, float value) { push(sequence, value, Lie{}); }
  void push(std::uint64_t sequence, float value, const Lie& lie) {
    const ModelUpdateFormat format(small_network(data_), {});
    const std::vector<float> values(layout_of(small_network(data_)).size, value);
    wire::Head head;
    head.mutable_push()->set_sequence(sequence);
    head.mutable_push()->set_generation(generation_ - lie.past);
    PayloadBuffer buffer;
    ModelUpdateHeader header = format.write({}, false, values, buffer.next());
    header.bytes += lie.bytes;
    set_header(header, *head.mutable_push()->mutable_push());
    stranger_.channel->send(message_of(head));
    if (lie.half) buffer.next().resize(buffer.next().size() / 2);
    for (auto& chunk : buffer.chunks(sequence)) stranger_.channel->send(std::move(chunk));
  }
  /// The heartbeats of a worker that hangs, until the coordinator closes the connection.
  void hang() {
    wire::Head head;
    head.mutable_heartbeat()->set_progress(1);
    do {
      stranger_.channel->send(message_of(head));
    } while (!stranger_.inbox->ends_within(0.02));
  }
  /// Until the coordinator sends a heartbeat.
  void wait() { stranger_.inbox->head(wire::Head::kHeartbeat); }
  void leave() { stranger_.channel->close("enough"); }

 private:
  Stranger stranger_;
  const Dataset& data_;
  std::uint64_t generation_ = 0;
};

}  // namespace evener
