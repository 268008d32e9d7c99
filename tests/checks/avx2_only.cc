// Preloaded by scripts/odd: Highway then chooses no instruction set beyond AVX2, as on a processor
// that has none.
#include <hwy/targets.h>

namespace {

[[gnu::constructor]] void mask() {
  hwy::DisableTargets(HWY_AVX2 - 1);  // better targets have lower bits
}

}  // namespace
