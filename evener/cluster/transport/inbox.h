// Carries what the transport's threads bring to a thread of one's own.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "evener/cluster/transport/transport.h"
#include "evener/core/mailbox.h"
#include "evener/core/time.h"

namespace evener {

/// A message, or the conversation's end.
struct ChannelEvent {
  int from = 0;  // who this inbox was made for
  std::variant<Message, std::string> what;

  const std::string* end() const { return std::get_if<std::string>(&what); }
  const Message& message() const { return std::get<Message>(what); }
};
using ChannelEvents = Mailbox<ChannelEvent>;

/// `queue` outlives the conversation.
class Inbox final : public Handler {
 public:
  explicit Inbox(ChannelEvents& queue, int from = 0) : queue_(queue), from_(from) {}
  void received(Message message) override { queue_.put({from_, std::move(message)}); }
  void ended(const std::string& why) override { queue_.put({from_, why}); }

 private:
  ChannelEvents& queue_;
  int from_;
};

inline constexpr Seconds kLook = 0.1;   // how often signals and silence are looked at
inline constexpr Seconds kPause = 0.5;  // before the next try
inline constexpr Seconds kAnswer = 10;  // to be answered by who listens there

/// Until the conversation with `from` has ended, or a moment has passed.
inline void drain(ChannelEvents& queue, int from = 0) {
  constexpr Seconds kMoment = 1;
  while (const auto last = queue.get_within(kMoment)) {
    if (last->from == from && last->end() != nullptr) return;
  }
}

}  // namespace evener
