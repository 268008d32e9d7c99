// Vectors of floats, and loads and stores of memory that other threads may write at the same time:
// Hogwild's shared model. These races are intended: a step may read a weight that is slightly out
// of date, and a lost update is the cost of having no locks (Recht et al. 2011). On the processors
// we support, an aligned vector access never tears a float. The thread sanitizer is disabled here
// and nowhere else; under it these are real calls, so that it still checks their callers. Included
// once per instruction set.
#if defined(EVENER_VECTOR_RACING_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef EVENER_VECTOR_RACING_INL
#undef EVENER_VECTOR_RACING_INL
#else
#define EVENER_VECTOR_RACING_INL
#endif

#include "hwy/highway.h"

#include "evener/device/vector/vector_kernels.h"

#ifndef EVENER_RACING
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define EVENER_RACING inline __attribute__((no_sanitize("thread"), noinline))
#endif
#elif defined(__SANITIZE_THREAD__)
#define EVENER_RACING inline __attribute__((no_sanitize_thread, noinline))
#endif
#ifndef EVENER_RACING
#define EVENER_RACING HWY_INLINE
#endif
#endif

HWY_BEFORE_NAMESPACE();
namespace evener {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// At most 16 lanes, so that two vectors are never wider than kVectorMultiple.
using Floats = hn::CappedTag<float, kVectorMultiple / 2>;
using Vec = hn::Vec<Floats>;
constexpr Floats kFloats;

HWY_INLINE std::size_t lanes() {
  return hn::Lanes(kFloats);
}

EVENER_RACING Vec racing_load(const float* from) {
  return hn::Load(kFloats, from);
}
EVENER_RACING Vec racing_broadcast(const float* from) {
  return hn::Set(kFloats, *from);
}
EVENER_RACING void racing_store(Vec value, float* to) {
  hn::Store(value, kFloats, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace evener
HWY_AFTER_NAMESPACE();
#endif
