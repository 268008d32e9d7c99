// A policy decides and does not act: which batch goes where, how large, when replicas merge. It is
// told events and answers decisions; there is no clock, thread, device or random number inside, so
// one and the same policy runs real devices, runs in virtual time and is tested in tables.
#pragma once

#include "evener/policy/decisions.h"
#include "evener/policy/events.h"

namespace evener {

class Policy {
 public:
  virtual ~Policy() = default;
  virtual Decisions on(const Event& event) = 0;
  /// For people, when the run ends: what it was about to decide; empty: nothing.
  virtual std::string undecided() const { return ""; }
  /// For people: how each worker stands to the others; empty: there is nothing to tell.
  virtual std::vector<std::string> standings() const { return {}; }
};

/// For std::visit: one lambda a case.
template <class... F>
struct Cases : F... {
  using F::operator()...;
};
template <class... F>
Cases(F...) -> Cases<F...>;

}  // namespace evener
