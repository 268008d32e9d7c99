#include "evener/device/cpu/kernels.h"

#include <cmath>

// An SSSE3 version would add only compile time over SSE4.
#define HWY_DISABLED_TARGETS HWY_SSSE3
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "evener/device/cpu/kernels.cc"
#include "hwy/foreach_target.h"
// After foreach_target:
#include "hwy/highway.h"

#include "evener/device/cpu/gather-inl.h"
#include "evener/device/cpu/gemm-inl.h"
#include "evener/device/cpu/loss-inl.h"

HWY_BEFORE_NAMESPACE();
namespace evener::cpu {
namespace HWY_NAMESPACE {

// Whole blocks of rows and whole vectors: enough units to amortise loads and stores of the error's
// accumulators, few enough to keep a tile's gradient in the second-level cache.
constexpr std::size_t kTile = kRows == 12 ? 96 : 72;

Kernels table() {
  return {hwy::TargetName(HWY_TARGET),
          panel_width(),
          kTile,
          (kTile + kRows - 1) / kRows,
          &forward,
          &forward_exponentiate,
          &dot,
          &backward,
          &gradient,
          &activate,
          &derive,
          &transpose,
          &exponentiate,
          &normalise,
          &rescale,
          &pointwise,
          &gather,
          &above,
          &multiply_adds};
}

}  // namespace HWY_NAMESPACE
}  // namespace evener::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace evener::cpu {

HWY_EXPORT(table);

namespace {

Kernels& chosen() {
  static Kernels kernels = HWY_DYNAMIC_DISPATCH(table)();
  return kernels;
}

}  // namespace

const Kernels& kernels() {
  return chosen();
}

void use_instruction_set(const std::string& name) {
  evener::use_instruction_set(name, [] { chosen() = HWY_DYNAMIC_DISPATCH(table)(); });
}

}  // namespace evener::cpu
#endif
