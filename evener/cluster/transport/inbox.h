// A handler that puts what arrives into a queue, for a thread of its owner.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "evener/cluster/transport/transport.h"
#include "evener/core/mailbox.h"
#include "evener/core/time.h"

namespace evener {

/// A message, or why the connection has ended.
struct ChannelEvent {
  int from = 0;  // the number that the inbox was made with
  std::variant<Message, std::string> what;

  const std::string* end() const { return std::get_if<std::string>(&what); }
  const Message& message() const { return std::get<Message>(what); }
};
using ChannelEvents = Mailbox<ChannelEvent>;

/// `queue` outlives the connection.
class Inbox final : public Handler {
 public:
  explicit Inbox(ChannelEvents& queue, int from = 0) : queue_(queue), from_(from) {}
  void received(Message message) override { queue_.put({from_, std::move(message)}); }
  void ended(const std::string& why) override { queue_.put({from_, why}); }

 private:
  ChannelEvents& queue_;
  int from_;
};

inline constexpr Seconds kLook = 0.1;   // how often signals and silence are checked
inline constexpr Seconds kPause = 0.5;  // before the next try
inline constexpr Seconds kAnswer = 10;  // to wait for an answer

/// Waits until the connection with number `from` has ended, or a second has passed.
inline void drain(ChannelEvents& queue, int from = 0) {
  constexpr Seconds kMoment = 1;
  while (const auto last = queue.get_within(kMoment)) {
    if (last->from == from && last->end() != nullptr) return;
  }
}

}  // namespace evener
