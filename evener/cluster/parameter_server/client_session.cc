#include "evener/cluster/parameter_server/client_session.h"

#include "evener/cluster/parameter_server/coordinator_service.h"

namespace evener {

void ClientSession::received(Message message) {
  const wire::Head head = head_of(message);
  if (is_hello(head) && std::exchange(said_hello_, true)) throw Error("it sent a second hello");
  Client& client = *client_;
  const bool beats = head.has_heartbeat();
  coordinator_.heard(client, beats ? std::optional(head.heartbeat().progress()) : std::nullopt);
  switch (head.kind_case()) {
    case wire::Head::kHello:
      client.hello = head.hello();
      return coordinator_.hello(client_);
    case wire::Head::kReady:
      return coordinator_.ready(client, head.ready());
    case wire::Head::kPush:
      return coordinator_.push(client, head.push());
    case wire::Head::kWorkerState:
      return coordinator_.worker_state(client, head.worker_state());
    case wire::Head::kChunk:
      return coordinator_.chunk(client, head.chunk(), message);
    case wire::Head::kServerHello:
      return coordinator_.server_hello(client, head.server_hello());
    case wire::Head::kKept:
      return coordinator_.kept(client);
    case wire::Head::kPushed:
      return coordinator_.pushed(client, head.pushed());
    case wire::Head::kFetched:
      return coordinator_.fetched(client, head.fetched());
    case wire::Head::kStatusRequest:
      return coordinator_.answer_status(client, head.status_request());
    case wire::Head::kHeartbeat:
      return;
    case wire::Head::kLeave:
      client.left = true;
      return client.channel->close(head.leave().why());
    case wire::Head::kPeerHello:
    case wire::Head::kJoinRequest:
      return coordinator_.refuse_peer(client);
    default:
      throw Error("a message that a coordinator does not take");
  }
}

void ClientSession::ended(const std::string& why) {
  coordinator_.disconnected(*client_, why);
}

}  // namespace evener
