// Sums of rows for the sparse input layer, and the loop that measures the peak speed. Included once
// per instruction set.
#if defined(EVENER_CPU_GATHER_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef EVENER_CPU_GATHER_INL
#undef EVENER_CPU_GATHER_INL
#else
#define EVENER_CPU_GATHER_INL
#endif

#include <cstdint>

#include "hwy/cache_control.h"

#include "evener/device/cpu/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace evener::cpu {
namespace HWY_NAMESPACE {

// Vectors of a row that are summed together: they stay in registers over all non-zeros.
constexpr int kStrip = 8;
constexpr std::size_t kAhead = 6;  // rows prefetched

// out[0, V vectors) = first + sum_i values[i] * rows[indices[i] * stride].
template <int V>
HWY_INLINE void weighted_sum(const float* rows, std::size_t stride, const std::uint32_t* indices,
                             const float* values, std::size_t count, const float* first,
                             float* out) {
  Vec sum[V];
  EVENER_UNROLL for (int v = 0; v < V; ++v) {
    sum[v] = first != nullptr ? racing_load(first + v * lanes()) : hn::Zero(kFloats);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (i + kAhead < count) {
      const float* next = rows + indices[i + kAhead] * stride;
      EVENER_UNROLL for (int v = 0; v < V; ++v) hwy::Prefetch(next + v * lanes());
    }
    const float* row = rows + indices[i] * stride;
    const Vec value = hn::Set(kFloats, values[i]);
    EVENER_UNROLL for (int v = 0; v < V; ++v) {
      sum[v] = hn::MulAdd(value, racing_load(row + v * lanes()), sum[v]);
    }
  }
  EVENER_UNROLL for (int v = 0; v < V; ++v) hn::Store(sum[v], kFloats, out + v * lanes());
}

HWY_NOINLINE void gather(const float* weights, std::size_t stride, std::size_t width,
                         const float* bias, const std::uint32_t* indices, const float* values,
                         std::size_t count, float* out) {
  std::size_t k = 0;
  for (; k + kStrip * lanes() <= width; k += kStrip * lanes()) {
    weighted_sum<kStrip>(weights + k, stride, indices, values, count,
                         bias != nullptr ? bias + k : nullptr, out + k);
  }
  for (; k < width; k += 2 * lanes()) {
    weighted_sum<2>(weights + k, stride, indices, values, count,
                    bias != nullptr ? bias + k : nullptr, out + k);
  }
}

HWY_NOINLINE double multiply_adds(std::size_t rounds) {
  // Twelve independent chains cover the latency of two units; the values stay finite.
  constexpr int kChains = 12;
  Vec sum[kChains];
  EVENER_UNROLL for (int c = 0; c < kChains; ++c) {
    sum[c] = hn::Set(kFloats, static_cast<float>(c));
  }
  const Vec x = hn::Set(kFloats, 0.5F);
  for (std::size_t round = 0; round < rounds; ++round) {
    EVENER_UNROLL for (int c = 0; c < kChains; ++c) sum[c] = hn::MulAdd(sum[c], x, x);
  }
  Vec total = sum[0];
  EVENER_UNROLL for (int c = 1; c < kChains; ++c) total = hn::Add(total, sum[c]);
  // The result depends on every chain, so the compiler cannot remove any.
  const float check = hn::GetLane(hn::SumOfLanes(kFloats, total));
  return check < 0 ? 0 : 2.0 * kChains * static_cast<double>(lanes() * rounds);
}

}  // namespace HWY_NAMESPACE
}  // namespace evener::cpu
HWY_AFTER_NAMESPACE();
#endif
