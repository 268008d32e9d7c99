// Optimizer rules and the sparse input layer's row operations. Included once per instruction set.
#if defined(EVENER_CPU_UPDATE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef EVENER_CPU_UPDATE_INL
#undef EVENER_CPU_UPDATE_INL
#else
#define EVENER_CPU_UPDATE_INL
#endif

#include <cstdint>

#include "evener/device/cpu/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace evener::cpu {
namespace HWY_NAMESPACE {

// The rules of nn/training.h, a vector at a time. Beyond n the last vector meets padding,
// whose gradient is zero and which therefore stays zero.
template <Optimizer kOptimizer>
HWY_INLINE void update_with(const UpdateRule& rule, const RowState& row, const float* gradient,
                            std::size_t n, float l2) {
  const Vec rate = hn::Set(kFloats, rule.learning_rate);
  const Vec decay = hn::Set(kFloats, l2);
  const Vec momentum = hn::Set(kFloats, rule.momentum);
  const Vec beta1_rest = hn::Set(kFloats, 1.0F - rule.momentum);
  const Vec beta2 = hn::Set(kFloats, rule.beta2);
  const Vec beta2_rest = hn::Set(kFloats, 1.0F - rule.beta2);
  const Vec root_scale = hn::Set(kFloats, rule.root_scale);
  const Vec least_v = hn::Set(kFloats, rule.least_v);
  const Vec epsilon = hn::Set(kFloats, rule.epsilon);
  for (std::size_t i = 0; i < n; i += lanes()) {
    if constexpr (kOptimizer == Optimizer::accumulate) {
      racing_store(hn::Add(racing_load(row.first + i), hn::Load(kFloats, gradient + i)),
                   row.first + i);
      continue;
    }
    Vec w = racing_load(row.weight + i);
    const Vec g = hn::MulAdd(decay, w, hn::Load(kFloats, gradient + i));
    if constexpr (kOptimizer == Optimizer::sgd) {
      w = hn::NegMulAdd(rate, g, w);
    } else if constexpr (kOptimizer == Optimizer::momentum) {
      const Vec s = hn::MulAdd(momentum, racing_load(row.first + i), g);
      racing_store(s, row.first + i);
      w = hn::NegMulAdd(rate, s, w);
    } else if constexpr (kOptimizer == Optimizer::adagrad) {
      const Vec s = hn::MulAdd(g, g, racing_load(row.first + i));
      racing_store(s, row.first + i);
      w = hn::Sub(w, hn::Div(hn::Mul(rate, g), hn::Add(hn::Sqrt(s), epsilon)));
    } else {
      const Vec m = hn::MulAdd(momentum, racing_load(row.first + i), hn::Mul(beta1_rest, g));
      const Vec sum =
          hn::MulAdd(beta2, racing_load(row.second + i), hn::Mul(hn::Mul(beta2_rest, g), g));
      const Vec v = hn::Max(sum, hn::Mul(hn::Mul(least_v, m), m));
      racing_store(m, row.first + i);
      racing_store(v, row.second + i);
      w = hn::Sub(w, hn::Div(hn::Mul(rate, m), hn::MulAdd(hn::Sqrt(v), root_scale, epsilon)));
    }
    racing_store(w, row.weight + i);
  }
}

HWY_NOINLINE void update(const UpdateRule& rule, const RowState& row, const float* gradient,
                         std::size_t n, float l2) {
  switch (rule.optimizer) {
    case Optimizer::sgd:
      return update_with<Optimizer::sgd>(rule, row, gradient, n, l2);
    case Optimizer::momentum:
      return update_with<Optimizer::momentum>(rule, row, gradient, n, l2);
    case Optimizer::adam:
      return update_with<Optimizer::adam>(rule, row, gradient, n, l2);
    case Optimizer::adagrad:
      return update_with<Optimizer::adagrad>(rule, row, gradient, n, l2);
    case Optimizer::accumulate:
      return update_with<Optimizer::accumulate>(rule, row, gradient, n, l2);
  }
}

HWY_NOINLINE void copy(const float* from, float* to, std::size_t n) {
  for (std::size_t i = 0; i < n; i += lanes()) racing_store(racing_load(from + i), to + i);
}

HWY_NOINLINE void add_scaled(const float* from, float factor, float* to, std::size_t n) {
  const Vec f = hn::Set(kFloats, factor);
  for (std::size_t i = 0; i < n; i += lanes()) {
    racing_store(hn::MulAdd(f, racing_load(from + i), racing_load(to + i)), to + i);
  }
}

HWY_NOINLINE void add_difference(const float* now, const float* before, float* to, std::size_t n) {
  for (std::size_t i = 0; i < n; i += lanes()) {
    const Vec change = hn::Sub(hn::Load(kFloats, now + i), hn::Load(kFloats, before + i));
    racing_store(hn::Add(racing_load(to + i), change), to + i);
  }
}

HWY_NOINLINE float square_norm(const float* values, std::size_t n) {
  Vec sum = hn::Zero(kFloats);
  for (std::size_t i = 0; i < n; i += lanes()) {
    const Vec v = hn::Load(kFloats, values + i);
    sum = hn::MulAdd(v, v, sum);
  }
  return hn::GetLane(hn::SumOfLanes(kFloats, sum));
}

// Vectors of a row that are summed at a time: they stay in registers over all non-zeros.
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
  // The result depends on every chain, so none can be dropped.
  const float check = hn::GetLane(hn::SumOfLanes(kFloats, total));
  return check < 0 ? 0 : 2.0 * kChains * static_cast<double>(lanes() * rounds);
}

}  // namespace HWY_NAMESPACE
}  // namespace evener::cpu
HWY_AFTER_NAMESPACE();
#endif
