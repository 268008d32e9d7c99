// Loads and stores of memory that other threads may write at the same moment: Hogwild's shared
// model. They race on purpose: a step that reads a weight half a moment old is still a step, and a
// lost update is the price of no locks (Recht et al. 2011). Aligned vectors of floats are never
// torn within a float on the processors we run on. The thread sanitizer is switched off here and
// nowhere else; there these are calls, so that the functions around them stay watched.
#if defined(EVENER_CPU_RACING_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef EVENER_CPU_RACING_INL
#undef EVENER_CPU_RACING_INL
#else
#define EVENER_CPU_RACING_INL
#endif

#include "hwy/highway.h"

#include "evener/device/cpu/kernels.h"

#ifndef EVENER_RACING
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define EVENER_RACING __attribute__((no_sanitize("thread"), noinline))
#endif
#elif defined(__SANITIZE_THREAD__)
#define EVENER_RACING __attribute__((no_sanitize_thread, noinline))
#endif
#ifndef EVENER_RACING
#define EVENER_RACING HWY_INLINE
#endif
#endif

HWY_BEFORE_NAMESPACE();
namespace evener::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// At most 16 lanes, so that a panel is never wider than kMaxPanel.
using Floats = hn::CappedTag<float, kMaxPanel / 2>;
using Vec = hn::Vec<Floats>;
constexpr Floats kFloats;

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
}  // namespace evener::cpu
HWY_AFTER_NAMESPACE();
#endif
