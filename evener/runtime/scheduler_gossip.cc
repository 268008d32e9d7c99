// The scheduler between gossiping nodes: carries their messages, and keeps the ledger of what is in
// another's model.
#include "evener/runtime/scheduler.h"

namespace evener {

/// Between gossiping nodes. False: the decision is another one.
bool Scheduler::write(const Decision& decision) {
  using Kind = GossipMessage::Kind;
  const bool known = std::visit(Cases{[&](const Offer& d) {
                                        const std::size_t bytes = models_.offer(d);
                                        timeline_.add_letter(d.worker, bytes, false);
                                        send(Kind::offer, d.worker, d.to, d.sequence, bytes);
                                        return true;
                                      },
                                      [&](const Answer& d) {
                                        const std::size_t bytes = models_.answer(d);
                                        timeline_.add_answer(d.worker, bytes);
                                        close_ledger(d.worker);
                                        send(Kind::reply, d.worker, d.to, d.sequence, bytes);
                                        return true;
                                      },
                                      [&](const Decline& d) {
                                        timeline_.add_reject(d.to);
                                        send(Kind::decline, d.worker, d.to, d.sequence, 0);
                                        return true;
                                      },
                                      [&](const CompleteExchange& d) {
                                        models_.complete_exchange(d);
                                        timeline_.add_letter(d.worker, 0, true);
                                        close_ledger(d.worker);
                                        return true;
                                      },
                                      [](const auto&) { return false; }},
                                decision);
  if (known) drop_failures();
  return known;
}

void Scheduler::send(GossipMessage::Kind kind, int from, int to, std::uint64_t sequence,
                     std::size_t bytes) {
  ++under_way_;
  executor_.send({kind, from, to, sequence}, bytes);
}

/// What the worker has trained is in another's model too, and is not lost with it.
void Scheduler::close_ledger(int worker) {
  WorkerLedger& ledger = ledgers_[static_cast<std::size_t>(worker)];
  ledger.unmerged.clear();
  ledger.unmerged_loss = 0;
}

/// Takes no time: it is there to be looked at, and the nodes' models stay as they are.
void Scheduler::average() {
  measure_distance();
  models_.average();
  drop_failures();
  for (int i = 0; i < static_cast<int>(ledgers_.size()); ++i) close_ledger(i);
  tell(Merged{executor_.now()});
}

}  // namespace evener
