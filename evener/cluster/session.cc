#include "evener/cluster/session.h"

#include <utility>

#include "evener/cluster/registry.h"

namespace evener {

void Session::received(Message message) {
  const wire::Head head = head_of(message);
  registry_.heard(*this);
  switch (head.kind_case()) {
    case wire::Head::kHello:
      hello = head.hello();
      return registry_.greet(shared_from_this());
    case wire::Head::kServerHello:
      return registry_.greet_server(*this, head.server_hello());
    case wire::Head::kKept:
      return registry_.kept(*this);
    case wire::Head::kPushed:
      return registry_.pushed(*this, head.pushed());
    case wire::Head::kFetched:
      return registry_.fetched(*this, head.fetched());
    case wire::Head::kReady:
      return registry_.ready(*this, head.ready());
    case wire::Head::kPush:
      return registry_.push(*this, head.push());
    case wire::Head::kMemory:
      return registry_.recalled(*this, head.memory());
    case wire::Head::kChunk:
      return registry_.chunk(*this, head.chunk(), message);
    case wire::Head::kStatusRequest:
      return registry_.answer_status(*this, head.status_request());
    case wire::Head::kBeat:
      return;
    case wire::Head::kFarewell:
      return channel_->close(head.farewell().why());
    default:
      throw Error("a message that no node sends");
  }
}

void Session::ended(const std::string& why) {
  registry_.gone(*this, why);
}

}  // namespace evener
