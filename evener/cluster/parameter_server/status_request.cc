#include "evener/cluster/parameter_server/status_request.h"

#include <memory>

#include <fmt/format.h>

#include "evener/cluster/membership/reconnect.h"
#include "evener/cluster/transport/inbox.h"
#include "evener/cluster/wire/wire.h"

namespace evener {

std::string ask_status(Transport& transport, const std::string& coordinator,
                       const std::string& token) {
  ChannelEvents queue;
  const auto channel = transport.connect(coordinator, std::make_shared<Inbox>(queue));
  wire::Head question;
  question.mutable_status_request()->set_token(token);
  channel->send(message_of(question));
  std::string why = "no answer";
  const Stopwatch waited;
  while (waited.elapsed() < kAnswer) {
    const auto event = queue.get_within(kLook);
    if (!event) continue;
    if (const std::string* end = event->end()) {
      why = *end;
      break;
    }
    const wire::Head answer = head_of(event->message());
    if (answer.has_status()) return answer.status().json();
    if (!answer.has_refusal()) continue;  // a heartbeat
    why = answer.refusal().why();
    break;
  }
  throw Error(fmt::format("{}: {}", coordinator, with_hint(why)));
}

}  // namespace evener
