// The state of one rank in the conformance suite: a listener that answers, and messages to send.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/cluster/transport/conformance/checks.h"
#include "tests/cluster/transport/inbox.h"
#include <fmt/format.h>
#include <xxhash.h>

namespace evener {

inline void expect(bool holds, const std::string& what) {
  if (!holds) throw Error("not so: " + what);
}

inline std::shared_ptr<std::vector<std::byte>> some_bytes(std::size_t count) {
  auto bytes = std::make_shared<std::vector<std::byte>>(count);
  for (std::size_t i = 0; i < count; ++i) (*bytes)[i] = static_cast<std::byte>(i * 7 % 251);
  return bytes;
}
inline Message message_with(const std::string& head, std::size_t count) {
  const auto bytes = some_bytes(count);
  return {head, {std::span<const std::byte>(*bytes)}, bytes};
}
inline std::vector<std::byte> body_of(const Message& message) {
  std::vector<std::byte> bytes;
  for (const auto& piece : message.body) bytes.insert(bytes.end(), piece.begin(), piece.end());
  return bytes;
}
inline std::string sum_of(std::span<const std::byte> bytes) {
  return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
}

/// Answers a message with itself, and a complete payload with its sum.
class Answerer final : public Handler {
 public:
  Answerer(std::shared_ptr<Channel> channel, Mailbox<std::string>& ends)
      : channel_(std::move(channel)), ends_(ends), sum_(XXH3_createState()) {
    XXH3_64bits_reset(sum_);
    channel_->admit();
  }
  ~Answerer() override { XXH3_freeState(sum_); }
  Answerer(const Answerer&) = delete;
  Answerer& operator=(const Answerer&) = delete;

  void received(Message message) override {
    if (message.head == "throw") throw Error("a reason");
    if (message.head.rfind(kPayload, 0) == 0) {
      expected_ = std::stoull(message.head.substr(kPayload.size()));
      if (expected_ == 0) answer();
      return;
    }
    if (expected_ == 0) return channel_->send(std::move(message));
    if (head_of(message).chunk().offset() != taken_) throw Error("a chunk out of order");
    for (const auto& piece : message.body) XXH3_64bits_update(sum_, piece.data(), piece.size());
    taken_ += message.body_size();
    if (taken_ == expected_) answer();
  }
  void ended(const std::string& why) override { ends_.put(why); }

  static constexpr std::string_view kPayload = "payload ";

 private:
  void answer() {
    channel_->send({fmt::format("{:016x}", XXH3_64bits_digest(sum_)), {}, nullptr});
    XXH3_64bits_reset(sum_);
    expected_ = taken_ = 0;
  }

  std::shared_ptr<Channel> channel_;
  Mailbox<std::string>& ends_;
  XXH3_state_t* sum_;
  std::uint64_t expected_ = 0, taken_ = 0;
};

/// Listens until all ranks are done.
class EchoServer {
 public:
  explicit EchoServer(Rank& rank) : rank_(rank) {
    listen(rank.listen);
    rank.rendezvous->write(rank.rank, listener_->address());
    rank.barrier();
  }
  void listen(const std::string& address) {
    listener_ = rank_.transport->listen(address, [this](std::shared_ptr<Channel> channel) {
      return std::make_shared<Answerer>(std::move(channel), ends_);
    });
  }
  /// Waits for all ranks and closes. Not after a failed check: the others would not arrive.
  void leave() { rank_.barrier(); }
  void stop_listening() { listener_.reset(); }
  std::string address() const { return listener_->address(); }
  std::string address_of(int rank) const { return rank_.rendezvous->read(rank); }
  /// Why the next connection that another rank opened has ended.
  std::string next_end() {
    auto why = ends_.get_within(kSoon);
    if (!why) throw Error("no end of a connection was reported");
    return *why;
  }

 private:
  Rank& rank_;
  Mailbox<std::string> ends_;
  std::unique_ptr<Listener> listener_;  // last: its connections use the rest
};

/// A connection that this rank has opened.
struct TestConnection {
  TestConnection(Rank& rank, const std::string& address)
      : inbox(std::make_shared<TestInbox>()), channel(rank.transport->connect(address, inbox)) {}
  void expect_echo(const std::string& head, std::size_t bytes) {
    const Message back = inbox->message();
    expect(back.head == head, fmt::format("'{}' came back as '{}'", head, back.head));
    expect(body_of(back) == *some_bytes(bytes), fmt::format("{} bytes came back", bytes));
  }
  void expect_answer() {
    channel->send(message_with("hello", 100));
    expect_echo("hello", 100);
  }

  std::shared_ptr<TestInbox> inbox;
  std::shared_ptr<Channel> channel;
};

}  // namespace evener
