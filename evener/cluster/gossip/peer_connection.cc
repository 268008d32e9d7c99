#include "evener/cluster/gossip/peer_connection.h"

#include <cmath>

namespace evener {

void PeerConnection::received(Message message) {
  const wire::Head head = head_of(message);
  if (is_hello(head) && std::exchange(said_hello_, true)) throw Error("it sent a second hello");
  if (head.has_peer_hello()) return hello(head);
  if (head.has_join_request()) {
    if (check_(head).empty()) channel_->admit();  // the answer may have to wait for a long step
    return events_.put({.kind = PeerEvent::Kind::join_request,
                        .from = static_cast<int>(head.join_request().rank()),
                        .join_request = head.join_request(),
                        .channel = channel_});
  }
  if (head.has_status_request() || head.has_hello() || head.has_server_hello()) {
    wire::Head answer;
    answer.mutable_refusal()->set_why(
        "this is a peer of a run without a coordinator (--peers); its own output shows its state");
    return channel_->send(message_of(answer));
  }
  if (from_ < 0 && incarnation_ == 0) throw Error("it has not said which peer it is");
  if (from_ < 0) return;  // it was refused
  if (head.has_peer_heartbeat()) {
    const double busy = head.peer_heartbeat().busy();  // others allow for it: see allowance()
    if (!std::isfinite(busy) || busy < 0) throw Error("a heartbeat whose time is not a number");
    events_.put(
        {.kind = PeerEvent::Kind::peer_heartbeat,
         .from = from_,
         .incarnation = incarnation_,
         .steps = {head.peer_heartbeat().steps().begin(), head.peer_heartbeat().steps().end()},
         .peer_heartbeat = head.peer_heartbeat()});
  }
  if (head.has_leave()) {
    events_.put({.kind = PeerEvent::Kind::leave,
                 .from = from_,
                 .incarnation = incarnation_,
                 .why = head.leave().why()});
  }
  if (head.has_gossip_message()) begin_message(head.gossip_message());
  if (head.has_chunk() && reader_) feed(head.chunk(), message);
}

void PeerConnection::hello(const wire::Head& head) {
  const wire::PeerHello& hello = head.peer_hello();
  PeerEvent event{.kind = PeerEvent::Kind::peer_hello,
                  .from = static_cast<int>(hello.rank()),
                  .incarnation = hello.incarnation(),
                  .peer_hello = hello,
                  .channel = channel_,
                  .why = check_(head)};
  if (!event.why.empty()) event.kind = PeerEvent::Kind::refusal;
  if (event.why.empty()) channel_->admit();
  from_ = event.why.empty() ? event.from : -1;
  incarnation_ = event.incarnation;
  events_.put(std::move(event));
}

void PeerConnection::begin_message(const wire::GossipMessage& message) {
  message_ = message;
  reader_.reset();
  if (message_.update().bytes() == 0) return deliver({}, "");
  reader_.emplace(layout_, header_of(message_.update()));
}

void PeerConnection::feed(const wire::Chunk& chunk, const Message& message) {
  // Heartbeats queue behind a long message, so its parts count as heartbeats.
  events_.put(
      {.kind = PeerEvent::Kind::part_of_message, .from = from_, .incarnation = incarnation_});
  reader_->feed(chunk.offset(), message);
  if (!reader_->complete()) return;
  const bool finite = reader_->finite();
  ModelUpdate update = reader_->take();
  reader_.reset();
  deliver(std::move(update), finite ? "" : "numbers that are not finite");
}

void PeerConnection::deliver(ModelUpdate update, const std::string& why) {
  update.weight = message_.weight();
  events_.put({.kind = PeerEvent::Kind::message,
               .from = from_,
               .incarnation = incarnation_,
               .message = message_,
               .update = std::move(update),
               .steps = {message_.steps().begin(), message_.steps().end()},
               .why = why});
}

void PeerLink::received(Message message) {
  const wire::Head head = head_of(message);
  if (!head.has_refusal()) return;
  const std::string why = head.refusal().later() ? "" : head.refusal().why();
  events_.put({.kind = PeerEvent::Kind::refused_there, .from = to_, .why = why});
}

void PeerLink::ended(const std::string& why) {
  events_.put({.kind = PeerEvent::Kind::link_down, .from = to_, .why = why});
}

}  // namespace evener
