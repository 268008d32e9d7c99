#include "evener/cluster/parameter_server/client_session.h"

#include <utility>

#include "evener/cluster/parameter_server/coordinator_service.h"

namespace evener {

void ClientSession::received(Message message) {
  const wire::Head head = head_of(message);
  coordinator_.heard(*this);
  switch (head.kind_case()) {
    case wire::Head::kHello:
      hello = head.hello();
      return coordinator_.greet(shared_from_this());
    case wire::Head::kServerHello:
      return coordinator_.greet_server(*this, head.server_hello());
    case wire::Head::kKept:
      return coordinator_.kept(*this);
    case wire::Head::kPushed:
      return coordinator_.pushed(*this, head.pushed());
    case wire::Head::kFetched:
      return coordinator_.fetched(*this, head.fetched());
    case wire::Head::kReady:
      return coordinator_.ready(*this, head.ready());
    case wire::Head::kPush:
      return coordinator_.push(*this, head.push());
    case wire::Head::kWorkerState:
      return coordinator_.worker_state_arrived(*this, head.worker_state());
    case wire::Head::kChunk:
      return coordinator_.chunk(*this, head.chunk(), message);
    case wire::Head::kStatusRequest:
      return coordinator_.answer_status(*this, head.status_request());
    case wire::Head::kHeartbeat:
      return;
    case wire::Head::kLeave:
      return channel_->close(head.leave().why());
    default:
      throw Error("a message that no node sends");
  }
}

void ClientSession::ended(const std::string& why) {
  coordinator_.gone(*this, why);
}

}  // namespace evener
