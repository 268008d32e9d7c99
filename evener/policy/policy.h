// A policy decides and does not act: which batch goes where, how large, when replicas merge. It is
// told events and answers decisions. There is no clock, thread, device or random device inside, so
// the same policy runs real devices, runs in virtual time and is tested in tables.
#pragma once

#include "evener/policy/decisions.h"
#include "evener/policy/events.h"

namespace evener {

class Policy {
 public:
  virtual ~Policy() = default;
  virtual Decisions on(const Event& event) = 0;
  /// For people: the state of each worker; empty: there is nothing to tell.
  virtual std::vector<std::string> standings() const { return {}; }
};

/// For std::visit: one lambda a case. A type without a case does not compile.
template <class... F>
struct Cases : F... {
  using F::operator()...;
};
template <class... F>
Cases(F...) -> Cases<F...>;

/// Among Cases: nothing is to be done for these types. There is no case for "all others" on
/// purpose: a new event does not compile until every policy says what it does with it.
template <class T>
struct IgnoreOne {
  void operator()(const T& /*ignored*/) const {}
};
template <class... T>
struct Ignore : IgnoreOne<T>... {
  using IgnoreOne<T>::operator()...;
};

}  // namespace evener
