// The scheduler between gossip peers: it sends their messages, and marks as merged what another
// peer's model contains, because that is not lost with the worker.
#include "evener/runtime/scheduler.h"

namespace evener {

void Scheduler::offer(const Offer& decision) {
  auto& peers = model_as<PeerSharing>(models_, "Offer");
  check_exchange("Offer", decision.worker, decision.to);
  const std::size_t bytes = peers.offer(decision);
  timeline_.add_message(decision.worker, bytes);
  send({GossipMessage::Kind::offer, decision.worker, decision.to, decision.sequence}, bytes);
  drop_failures();
}

void Scheduler::answer(const Answer& decision) {
  auto& peers = model_as<PeerSharing>(models_, "Answer");
  check_exchange("Answer", decision.worker, decision.to);
  const std::size_t bytes = peers.answer(decision);
  timeline_.add_answer(decision.worker, bytes);
  ledger_.mark_merged(decision.worker);
  send({GossipMessage::Kind::reply, decision.worker, decision.to, decision.sequence}, bytes);
  drop_failures();
}

void Scheduler::decline(const Decline& decision) {
  model_as<PeerSharing>(models_, "Decline");
  check_worker("Decline", decision.worker);
  check_worker("Decline", decision.to);
  timeline_.add_reject(decision.to);
  send({GossipMessage::Kind::decline, decision.worker, decision.to, decision.sequence}, 0);
}

void Scheduler::complete_exchange(const CompleteExchange& decision) {
  auto& peers = model_as<PeerSharing>(models_, "CompleteExchange");
  check_exchange("CompleteExchange", decision.worker, decision.from);
  peers.complete_exchange(decision);
  timeline_.add_completed_exchange(decision.worker);
  ledger_.mark_merged(decision.worker);
  drop_failures();
}

/// Takes no time: the mean is only evaluated and saved, and the peers' models stay as they are.
void Scheduler::average() {
  auto& peers = model_as<PeerSharing>(models_, "Average");
  check_all_idle("Average");
  measure_distance(peers);
  peers.average();
  drop_failures();
  ledger_.mark_all_merged();
  notify(Merged{executor_.now()});
}

void Scheduler::send(const GossipMessage& message, std::size_t bytes) {
  ++under_way_;
  executor_.send(message, bytes);
}

void Scheduler::deliver(const GossipMessage& message) {
  if (status(message.to).lost) return;
  notify(Delivered{message, executor_.now()});
}

}  // namespace evener
