// A policy makes decisions and does not execute them: which worker gets which batch, how large it
// is, when replicas merge. It receives events and returns decisions. It has no clock, thread,
// device or random device, so the same policy runs on real devices and in virtual time, and is
// tested with tables of events.
#pragma once

#include <type_traits>
#include <utility>
#include <variant>

#include "evener/policy/decisions.h"
#include "evener/policy/events.h"

namespace evener {

class Policy {
 public:
  virtual ~Policy() = default;
  virtual Decisions on(const Event& event) = 0;
  /// The state of each worker, for messages; empty: the policy keeps none.
  virtual std::vector<std::string> standings() const { return {}; }
};

/// One lambda per type.
template <class... F>
struct Cases : F... {
  using F::operator()...;
};
template <class... F>
Cases(F...) -> Cases<F...>;

template <class Type, class... F>
constexpr bool has_case() {
  constexpr bool kHasCase = std::is_invocable_v<Cases<F...>&, const Type&>;
  static_assert(kHasCase, "a type has no case: give it one, or list it in Ignore<...>");
  return kHasCase;
}

/// Calls the case for the type that the variant holds. A type without a case does not compile.
template <class... Type, class... F>
decltype(auto) dispatch(const std::variant<Type...>& value, F... cases) {
  if constexpr ((has_case<Type, F...>() && ...)) {
    return std::visit(Cases{std::move(cases)...}, value);
  }
}

/// Among the cases: these types are ignored. There is no case for "all others" on purpose: a new
/// event does not compile until every policy handles or ignores it.
template <class T>
struct IgnoreOne {
  void operator()(const T& /*ignored*/) const {}
};
template <class... T>
struct Ignore : IgnoreOne<T>... {
  using IgnoreOne<T>::operator()...;
};

}  // namespace evener
