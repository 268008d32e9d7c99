#include "evener/device/vector/vector_kernels.h"

#include "evener/core/error.h"

// An SSSE3 version would add only compile time over SSE4.
#define HWY_DISABLED_TARGETS HWY_SSSE3
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "evener/device/vector/vector_kernels.cc"
#include "hwy/foreach_target.h"
// After foreach_target:
#include "hwy/highway.h"

#include "evener/device/vector/racing-inl.h"

HWY_BEFORE_NAMESPACE();
namespace evener {
namespace HWY_NAMESPACE {

// numerator / (sqrt(v) * scale + epsilon). AVX-512 divides and takes roots of 16 numbers in 16 and
// 19 cycles; its estimates (14 bits) with a Newton step each cost a third of that and are as exact
// to about two units in the last place.
HWY_INLINE Vec over_root(Vec numerator, Vec v, Vec scale, Vec epsilon) {
#if HWY_TARGET == HWY_AVX3
  const Vec half = hn::Set(kFloats, 0.5F);
  // The least normal number, whose root is far below any epsilon: 0 has no reciprocal.
  const Vec square = hn::Max(v, hn::Set(kFloats, 1.17549435e-38F));
  const Vec estimate = hn::ApproximateReciprocalSqrt(square);
  const Vec near = hn::Mul(square, estimate);
  const Vec root = hn::MulAdd(near, hn::NegMulAdd(hn::Mul(half, near), estimate, half), near);
  const Vec divisor = hn::MulAdd(root, scale, epsilon);
  const Vec inverse = hn::ApproximateReciprocal(divisor);
  const Vec quotient = hn::Mul(numerator, inverse);
  return hn::MulAdd(hn::NegMulAdd(divisor, quotient, numerator), inverse, quotient);
#else
  return hn::Div(numerator, hn::MulAdd(hn::Sqrt(v), scale, epsilon));
#endif
}

// The rules of nn/training.h, a vector at a time. After n, the last vector covers padding, whose
// gradient is zero, so it stays zero.
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
      w = hn::Sub(w, over_root(hn::Mul(rate, g), s, hn::Set(kFloats, 1.0F), epsilon));
    } else {
      const Vec m = hn::MulAdd(momentum, racing_load(row.first + i), hn::Mul(beta1_rest, g));
      const Vec sum =
          hn::MulAdd(beta2, racing_load(row.second + i), hn::Mul(hn::Mul(beta2_rest, g), g));
      const Vec v = hn::Max(sum, hn::Mul(hn::Mul(least_v, m), m));
      racing_store(m, row.first + i);
      racing_store(v, row.second + i);
      w = hn::Sub(w, over_root(hn::Mul(rate, m), v, root_scale, epsilon));
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

VectorKernels vector_table() {
  return {&update, &copy, &add_scaled, &add_difference, &square_norm};
}

}  // namespace HWY_NAMESPACE
}  // namespace evener
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace evener {

HWY_EXPORT(vector_table);

namespace {

VectorKernels& chosen() {
  static VectorKernels kernels = HWY_DYNAMIC_DISPATCH(vector_table)();
  return kernels;
}

}  // namespace

const VectorKernels& vector_kernels() {
  return chosen();
}

std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
  for (const auto target : hwy::SupportedAndGeneratedTargets()) {
    names.emplace_back(hwy::TargetName(target));
  }
  return names;
}

void use_instruction_set(const std::string& name, const std::function<void()>& choose_others) {
  for (const auto target : hwy::SupportedAndGeneratedTargets()) {
    if (name != hwy::TargetName(target)) continue;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    chosen() = HWY_DYNAMIC_DISPATCH(vector_table)();
    choose_others();
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    return;
  }
  throw UsageError("instruction set '" + name + "' is not available here");
}

}  // namespace evener
#endif
