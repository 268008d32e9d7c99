// A handler that stores what arrives, for tests.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "evener/cluster/transport/transport.h"
#include "evener/cluster/wire/wire.h"
#include "evener/core/mailbox.h"

namespace evener {

constexpr Seconds kSoon = 20;  // the longest time that a test waits

class TestInbox final : public Handler {
 public:
  void received(Message message) override { events_.put(std::move(message)); }
  void ended(const std::string& why) override { events_.put("ended: " + why); }

  /// The next message. Error if the connection has ended or no message arrives.
  Message message() {
    auto event = events_.get_within(kSoon);
    if (!event) throw Error("nothing came");
    if (const auto* why = std::get_if<std::string>(&*event)) throw Error(*why);
    return std::get<Message>(std::move(*event));
  }
  /// The next head of this kind; others are skipped.
  wire::Head head(wire::Head::KindCase kind) {
    for (;;) {
      wire::Head head = head_of(message());
      if (head.kind_case() == kind) return head;
    }
  }
  /// Whether the next event, if one arrives within that time, is the end of the connection.
  bool ends_within(Seconds time) {
    const auto event = events_.get_within(time);
    return event && std::holds_alternative<std::string>(*event);
  }
  /// Why it has ended; messages before that are skipped.
  std::string end() {
    while (const auto event = events_.get_within(kSoon)) {
      if (const auto* why = std::get_if<std::string>(&*event)) return *why;
    }
    return "it goes on";
  }

 private:
  Mailbox<std::variant<Message, std::string>> events_;
};

}  // namespace evener
