// The micro-kernel and the three products built from it. Included once per instruction set.
#if defined(EVENER_CPU_GEMM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef EVENER_CPU_GEMM_INL
#undef EVENER_CPU_GEMM_INL
#else
#define EVENER_CPU_GEMM_INL
#endif

#include <algorithm>

#include "hwy/highway.h"

#include "evener/device/cpu/exp-inl.h"
#include "evener/device/cpu/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace evener::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace evener::HWY_NAMESPACE;  // vectors and how they are loaded

HWY_INLINE std::size_t panel_width() {
  return 2 * lanes();
}

// Rows of accumulators. Each takes two vector registers; one more pair holds the panel and one the
// broadcast value, so 6 rows fill AVX2's 16 registers and 12 rows most of AVX-512's 32.
#if HWY_TARGET == HWY_AVX3
constexpr int kRows = 12;
#else
constexpr int kRows = 6;
#endif

enum class Start { zero, bias, add };

template <int R, Start kStart>
HWY_INLINE void start(Vec (&a)[R], Vec (&b)[R], const float* out, std::size_t out_row,
                      const float* bias) {
  EVENER_UNROLL for (int r = 0; r < R; ++r) {
    if constexpr (kStart == Start::zero) {
      a[r] = b[r] = hn::Zero(kFloats);
    } else if constexpr (kStart == Start::bias) {
      a[r] = b[r] = racing_broadcast(bias + r);
    } else {
      a[r] = hn::Load(kFloats, out + r * out_row);
      b[r] = hn::Load(kFloats, out + r * out_row + lanes());
    }
  }
}

template <int R>
HWY_INLINE void store(const Vec (&a)[R], const Vec (&b)[R], float* out, std::size_t out_row) {
  EVENER_UNROLL for (int r = 0; r < R; ++r) {
    hn::Store(a[r], kFloats, out + r * out_row);
    hn::Store(b[r], kFloats, out + r * out_row + lanes());
  }
}

// What is done with the sums before they leave the registers.
struct Nothing {
  template <int R>
  HWY_INLINE void apply(Vec (&/*a*/)[R], Vec (&/*b*/)[R]) const {}
};

// The softmax of `Kernels::forward_exponentiate`, for the samples of one panel.
struct Exponentiate {
  float* maximum;
  float* sum;
  float* reference;

  template <int R>
  HWY_INLINE void apply(Vec (&a)[R], Vec (&b)[R]) const {
    apply_half(a, 0);
    apply_half(b, lanes());
  }
  template <int R>
  HWY_INLINE void apply_half(Vec (&values)[R], std::size_t at) const {
    const Vec before = hn::Load(kFloats, maximum + at);
    Vec top = before;
    EVENER_UNROLL for (int r = 0; r < R; ++r) top = hn::Max(top, values[r]);
    Vec total = hn::Mul(hn::Load(kFloats, sum + at), exp_of(hn::Sub(before, top)));
    EVENER_UNROLL for (int r = 0; r < R; ++r) values[r] = hn::Sub(values[r], top);
    constexpr int kGroup = 3;
    constexpr int kWhole = R / kGroup * kGroup;
    EVENER_UNROLL for (int r = 0; r < kWhole; r += kGroup) exp_of_each<kGroup>(values + r);
    EVENER_UNROLL for (int r = kWhole; r < R; ++r) exp_of_each<1>(values + r);
    EVENER_UNROLL for (int r = 0; r < R; ++r) total = hn::Add(total, values[r]);
    hn::Store(top, kFloats, maximum + at);
    hn::Store(top, kFloats, reference + at);
    hn::Store(total, kFloats, sum + at);
  }
};

// Prefetches the parts of an Upcoming, a share of them at each of `steps` steps. The lines go to
// the second-level cache: the first one is for the product's own operands.
class Prefetcher {
 public:
  HWY_INLINE Prefetcher(const Upcoming& next, std::size_t steps) : second_(next.parts[1]) {
    begin(next.parts[0]);
    const std::size_t lines = (next.parts[0].size + next.parts[1].size + kLine - 1) / kLine;
    share_ = (lines + steps - 1) / std::max<std::size_t>(steps, 1);
  }

  HWY_INLINE void step() {
    for (std::size_t i = 0; i < share_; ++i) {
      if (at_ >= end_) {
        if (second_.size == 0) {
          share_ = 0;
          return;
        }
        begin(second_);
        second_ = {};
      }
      __builtin_prefetch(at_, 0, 2);
      at_ += kLine;
    }
  }

 private:
  static constexpr std::size_t kLine = 64 / sizeof(float);

  HWY_INLINE void begin(const Upcoming::Part& part) {
    at_ = part.data;
    end_ = part.data + part.size;
  }

  const float* at_ = nullptr;
  const float* end_ = nullptr;
  Upcoming::Part second_;
  std::size_t share_ = 0;
};

// out[r] (+)= sum_k left[r * left_row + k] * right[k], where right[k] is a panel and k runs over
// `outer` blocks of `inner` (blocks of `left` are left_outer apart, those of right are contiguous).
template <int R, Start kStart, class Finish>
HWY_INLINE void multiply_rows(const float* left, std::size_t left_row, std::size_t left_outer,
                              std::size_t outer, std::size_t inner, const float* right,
                              const float* bias, float* out, std::size_t out_row,
                              const Finish& finish, Prefetcher& prefetcher) {
  Vec a[R], b[R];
  start<R, kStart>(a, b, out, out_row, bias);
  for (std::size_t o = 0; o < outer; ++o) {
    prefetcher.step();
    const float* l = left + o * left_outer;
    for (std::size_t k = 0; k < inner; ++k) {
      const Vec x = hn::Load(kFloats, right);
      const Vec y = hn::Load(kFloats, right + lanes());
      right += panel_width();
      EVENER_UNROLL for (int r = 0; r < R; ++r) {
        const Vec w = racing_broadcast(l + r * left_row);
        a[r] = hn::MulAdd(w, x, a[r]);
        b[r] = hn::MulAdd(w, y, b[r]);
      }
      ++l;
    }
  }
  finish.template apply<R>(a, b);
  store<R>(a, b, out, out_row);
}

// out[r] += sum_k left[k * left_step + r] * right[k]: the same with `left` read across its rows.
template <int R>
HWY_INLINE void multiply_columns(const float* left, std::size_t left_step, std::size_t count,
                                 const float* right, float* out) {
  Vec a[R], b[R];
  start<R, Start::add>(a, b, out, panel_width(), nullptr);
  for (std::size_t k = 0; k < count; ++k) {
    const Vec x = hn::Load(kFloats, right);
    const Vec y = hn::Load(kFloats, right + lanes());
    right += panel_width();
    EVENER_UNROLL for (int r = 0; r < R; ++r) {
      const Vec w = racing_broadcast(left + r);
      a[r] = hn::MulAdd(w, x, a[r]);
      b[r] = hn::MulAdd(w, y, b[r]);
    }
    left += left_step;
  }
  store<R>(a, b, out, panel_width());
}

// Calls the version for `rows` (1..R) rows.
template <int R, Start kStart, class Finish>
HWY_INLINE void multiply_rows_of(std::size_t rows, const float* left, std::size_t left_row,
                                 std::size_t left_outer, std::size_t outer, std::size_t inner,
                                 const float* right, const float* bias, float* out,
                                 std::size_t out_row, const Finish& finish,
                                 Prefetcher& prefetcher) {
  if (rows == R) {
    multiply_rows<R, kStart>(left, left_row, left_outer, outer, inner, right, bias, out, out_row,
                             finish, prefetcher);
  } else if constexpr (R > 1) {
    multiply_rows_of<R - 1, kStart>(rows, left, left_row, left_outer, outer, inner, right, bias,
                                    out, out_row, finish, prefetcher);
  }
}

template <int R>
HWY_INLINE void multiply_columns_of(std::size_t rows, const float* left, std::size_t left_step,
                                    std::size_t count, const float* right, float* out) {
  if (rows == R) {
    multiply_columns<R>(left, left_step, count, right, out);
  } else if constexpr (R > 1) {
    multiply_columns_of<R - 1>(rows, left, left_step, count, right, out);
  }
}

// Divides n rows evenly into blocks of at most kRows: the size of block i of `blocks`.
HWY_INLINE std::size_t block_begin(std::size_t n, std::size_t blocks, std::size_t i) {
  return n * i / blocks;
}

// Wider inputs are processed in blocks, so that a panel of them stays in the cache.
constexpr std::size_t kDepth = 512;

// `finish_of(p, block)` is applied to the sums of a panel and a block when they are complete.
template <class FinishOf>
HWY_INLINE void forward_with(const Weights& weights, const float* bias, const Columns& input,
                             std::size_t panels, const Columns& out, const Upcoming& next,
                             const FinishOf& finish_of) {
  const std::size_t blocks = (weights.units + kRows - 1) / kRows;
  Prefetcher prefetcher(next, panels * blocks);
  for (std::size_t depth = 0; depth < weights.width; depth += kDepth) {
    const std::size_t inner = std::min(kDepth, weights.width - depth);
    const bool last = depth + inner == weights.width;
    for (std::size_t p = 0; p < panels; ++p) {
      const float* panel = input.data + p * input.stride + depth * panel_width();
      for (std::size_t block = 0; block < blocks; ++block) {
        const std::size_t unit = block_begin(weights.units, blocks, block);
        const std::size_t rows = block_begin(weights.units, blocks, block + 1) - unit;
        const float* left = weights.data + unit * weights.stride + depth;
        float* to = out.data + p * out.stride + unit * panel_width();
        const auto multiply = [&]<Start kStart>(const auto& finish) HWY_ATTR {
          multiply_rows_of<kRows, kStart>(rows, left, weights.stride, 0, 1, inner, panel,
                                          bias + unit, to, panel_width(), finish, prefetcher);
        };
        if (depth == 0 && last) {
          multiply.template operator()<Start::bias>(finish_of(p, block));
        } else if (depth == 0) {
          multiply.template operator()<Start::bias>(Nothing{});
        } else if (last) {
          multiply.template operator()<Start::add>(finish_of(p, block));
        } else {
          multiply.template operator()<Start::add>(Nothing{});
        }
      }
    }
  }
}

HWY_NOINLINE void forward(const Weights& weights, const float* bias, const Columns& input,
                          std::size_t panels, const Columns& out, const Upcoming& next) {
  forward_with(weights, bias, input, panels, out, next,
               [](std::size_t, std::size_t) { return Nothing{}; });
}

HWY_NOINLINE void forward_exponentiate(const Weights& weights, const float* bias,
                                       const Columns& input, std::size_t panels, const Columns& out,
                                       const Upcoming& next, const RunningSoftmax& softmax) {
  const std::size_t samples = panels * panel_width();
  forward_with(weights, bias, input, panels, out, next, [&](std::size_t p, std::size_t block) {
    const std::size_t sample = p * panel_width();
    return Exponentiate{softmax.maximum + sample, softmax.sum + sample,
                        softmax.references + block * samples + sample};
  });
}

// The blocks are those of the forward product.
HWY_NOINLINE void rescale(const Columns& values, std::size_t units, std::size_t panels,
                          const float* references, const float* shift, const float* factor) {
  const std::size_t samples = panels * panel_width();
  const std::size_t blocks = (units + kRows - 1) / kRows;
  for (std::size_t p = 0; p < panels; ++p) {
    for (std::size_t block = 0; block < blocks; ++block) {
      const auto factor_of = [&](std::size_t sample) HWY_ATTR {
        const Vec reference = hn::Load(kFloats, references + block * samples + sample);
        return hn::Mul(exp_of(hn::Sub(reference, hn::Load(kFloats, shift + sample))),
                       hn::Load(kFloats, factor + sample));
      };
      const Vec f = factor_of(p * panel_width());
      const Vec g = factor_of(p * panel_width() + lanes());
      float* at = values.data + p * values.stride;
      const std::size_t end = block_begin(units, blocks, block + 1);
      for (std::size_t unit = block_begin(units, blocks, block); unit < end; ++unit) {
        float* row = at + unit * panel_width();
        hn::Store(hn::Mul(f, hn::Load(kFloats, row)), kFloats, row);
        hn::Store(hn::Mul(g, hn::Load(kFloats, row + lanes())), kFloats, row + lanes());
      }
    }
  }
}

// A row's logit for one sample.
HWY_NOINLINE float dot(const float* weights, float bias, const float* rows, std::size_t sample,
                       std::size_t samples, std::size_t width) {
  Vec sum = hn::Zero(kFloats), other = sum;
  for (std::size_t k = 0; k < width; k += panel_width()) {
    const float* x = rows + k * samples + sample * panel_width();
    sum = hn::MulAdd(racing_load(weights + k), hn::Load(kFloats, x), sum);
    other = hn::MulAdd(racing_load(weights + k + lanes()), hn::Load(kFloats, x + lanes()), other);
  }
  return bias + hn::GetLane(hn::SumOfLanes(kFloats, hn::Add(sum, other)));
}

HWY_NOINLINE void backward(const Weights& weights, const Columns& gradient, std::size_t panels,
                           const Columns& error, const Upcoming& next) {
  const std::size_t blocks = (weights.width + kRows - 1) / kRows;
  Prefetcher prefetcher(next, panels * blocks);
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t k = block_begin(weights.width, blocks, block);
    const std::size_t rows = block_begin(weights.width, blocks, block + 1) - k;
    for (std::size_t p = 0; p < panels; ++p) {
      prefetcher.step();
      multiply_columns_of<kRows>(rows, weights.data + k, weights.stride, weights.units,
                                 gradient.data + p * gradient.stride,
                                 error.data + p * error.stride + k * panel_width());
    }
  }
}

HWY_NOINLINE void gradient(const Columns& gradient, std::size_t units, std::size_t panels,
                           const float* rows, std::size_t width, const RowState& state, float* out,
                           float* bias_out) {
  const std::size_t samples = panels * panel_width();
  const std::size_t blocks = (units + kRows - 1) / kRows;
  const auto part = [&](const float* values) -> Upcoming::Part {
    return {values, values == nullptr ? 0 : units * width};
  };
  Prefetcher prefetcher({{part(state.first), part(state.second)}},
                        width / panel_width() * blocks * panels);
  for (std::size_t k = 0; k < width; k += panel_width()) {
    for (std::size_t block = 0; block < blocks; ++block) {
      const std::size_t unit = block_begin(units, blocks, block);
      const std::size_t count = block_begin(units, blocks, block + 1) - unit;
      multiply_rows_of<kRows, Start::zero>(count, gradient.data + unit * panel_width(),
                                           panel_width(), gradient.stride, panels, panel_width(),
                                           rows + k * samples, nullptr, out + unit * width + k,
                                           width, Nothing{}, prefetcher);
    }
  }
  for (std::size_t unit = 0; unit < units; ++unit) {
    Vec sum = hn::Zero(kFloats);
    for (std::size_t p = 0; p < panels; ++p) {
      const float* g = gradient.data + p * gradient.stride + unit * panel_width();
      sum = hn::Add(sum, hn::Add(hn::Load(kFloats, g), hn::Load(kFloats, g + lanes())));
    }
    bias_out[unit] = hn::GetLane(hn::SumOfLanes(kFloats, sum));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace evener::cpu
HWY_AFTER_NAMESPACE();
#endif
