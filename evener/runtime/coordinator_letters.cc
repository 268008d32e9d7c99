// The coordinator between gossiping nodes: carries their letters, and keeps the books of what is in
// another's model.
#include "evener/runtime/coordinator.h"

namespace evener {

/// Between gossiping nodes. False: the decision is another one.
bool Coordinator::write(const Decision& decision) {
  using Kind = Letter::Kind;
  const bool known = std::visit(Cases{[&](const Offer& d) {
                                        const std::size_t bytes = models_.offer(d);
                                        timeline_.add_letter(d.worker, bytes, false);
                                        send(Kind::offer, d.worker, d.to, d.sequence, bytes);
                                        return true;
                                      },
                                      [&](const Answer& d) {
                                        const std::size_t bytes = models_.answer(d);
                                        timeline_.add_answer(d.worker, bytes);
                                        settle_books(d.worker);
                                        send(Kind::reply, d.worker, d.to, d.sequence, bytes);
                                        return true;
                                      },
                                      [&](const Decline& d) {
                                        timeline_.add_reject(d.to);
                                        send(Kind::decline, d.worker, d.to, d.sequence, 0);
                                        return true;
                                      },
                                      [&](const Settle& d) {
                                        models_.settle(d);
                                        timeline_.add_letter(d.worker, 0, true);
                                        settle_books(d.worker);
                                        return true;
                                      },
                                      [](const auto&) { return false; }},
                                decision);
  if (known) drop_failures();
  return known;
}

void Coordinator::send(Letter::Kind kind, int from, int to, std::uint64_t sequence,
                       std::size_t bytes) {
  ++under_way_;
  stage_.send({kind, from, to, sequence}, bytes);
}

/// What the worker has trained is in another's model too, and is not lost with it.
void Coordinator::settle_books(int worker) {
  Books& books = books_[static_cast<std::size_t>(worker)];
  books.unmerged.clear();
  books.unmerged_loss = 0;
}

/// Takes no time: it is there to be looked at, and the nodes' models stay as they are.
void Coordinator::average() {
  measure_distance();
  models_.average();
  drop_failures();
  for (int i = 0; i < static_cast<int>(books_.size()); ++i) settle_books(i);
  tell(Merged{stage_.now()});
}

}  // namespace evener
