// The micro-kernel and the three products built from it. Included once per instruction set.
#if defined(EVENER_CPU_GEMM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef EVENER_CPU_GEMM_INL
#undef EVENER_CPU_GEMM_INL
#else
#define EVENER_CPU_GEMM_INL
#endif

#include <algorithm>

#include "hwy/cache_control.h"
#include "hwy/highway.h"

#include "evener/device/cpu/kernels.h"
#include "evener/device/vector/racing-inl.h"

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

// Accumulators are named arrays that the compiler must keep in registers: everything that indexes
// them is unrolled.
#define EVENER_UNROLL _Pragma("GCC unroll 16")

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
HWY_INLINE void finish(const Vec (&a)[R], const Vec (&b)[R], float* out, std::size_t out_row) {
  EVENER_UNROLL for (int r = 0; r < R; ++r) {
    hn::Store(a[r], kFloats, out + r * out_row);
    hn::Store(b[r], kFloats, out + r * out_row + lanes());
  }
}

// out[r] (+)= sum_k left[r * left_row + k] * right[k], where right[k] is a panel and k runs over
// `outer` blocks of `inner` (blocks of `left` are left_outer apart, those of right are contiguous).
template <int R, Start kStart>
HWY_INLINE void multiply_rows(const float* left, std::size_t left_row, std::size_t left_outer,
                              std::size_t outer, std::size_t inner, const float* right,
                              const float* bias, float* out, std::size_t out_row) {
  Vec a[R], b[R];
  start<R, kStart>(a, b, out, out_row, bias);
  for (std::size_t o = 0; o < outer; ++o) {
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
  finish<R>(a, b, out, out_row);
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
  finish<R>(a, b, out, panel_width());
}

// Calls the version for `rows` (1..R) rows.
template <int R, Start kStart>
HWY_INLINE void multiply_rows_of(std::size_t rows, const float* left, std::size_t left_row,
                                 std::size_t left_outer, std::size_t outer, std::size_t inner,
                                 const float* right, const float* bias, float* out,
                                 std::size_t out_row) {
  if (rows == R) {
    multiply_rows<R, kStart>(left, left_row, left_outer, outer, inner, right, bias, out, out_row);
  } else if constexpr (R > 1) {
    multiply_rows_of<R - 1, kStart>(rows, left, left_row, left_outer, outer, inner, right, bias,
                                    out, out_row);
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

HWY_NOINLINE void forward(const Weights& weights, const float* bias, const Columns& input,
                          std::size_t panels, const Columns& out) {
  const std::size_t blocks = (weights.units + kRows - 1) / kRows;
  for (std::size_t depth = 0; depth < weights.width; depth += kDepth) {
    const std::size_t inner = std::min(kDepth, weights.width - depth);
    for (std::size_t p = 0; p < panels; ++p) {
      const float* panel = input.data + p * input.stride + depth * panel_width();
      for (std::size_t block = 0; block < blocks; ++block) {
        const std::size_t unit = block_begin(weights.units, blocks, block);
        const std::size_t rows = block_begin(weights.units, blocks, block + 1) - unit;
        const float* left = weights.data + unit * weights.stride + depth;
        float* to = out.data + p * out.stride + unit * panel_width();
        if (depth == 0) {
          multiply_rows_of<kRows, Start::bias>(rows, left, weights.stride, 0, 1, inner, panel,
                                               bias + unit, to, panel_width());
        } else {
          multiply_rows_of<kRows, Start::add>(rows, left, weights.stride, 0, 1, inner, panel,
                                              nullptr, to, panel_width());
        }
      }
    }
  }
}

HWY_NOINLINE void backward(const Weights& weights, const Columns& gradient, std::size_t panels,
                           const Columns& error) {
  const std::size_t blocks = (weights.width + kRows - 1) / kRows;
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t k = block_begin(weights.width, blocks, block);
    const std::size_t rows = block_begin(weights.width, blocks, block + 1) - k;
    for (std::size_t p = 0; p < panels; ++p) {
      multiply_columns_of<kRows>(rows, weights.data + k, weights.stride, weights.units,
                                 gradient.data + p * gradient.stride,
                                 error.data + p * error.stride + k * panel_width());
    }
  }
}

// Prefetches a panel's width of `count` rows; `values` may be null.
HWY_INLINE void fetch(const float* values, std::size_t at, std::size_t count, std::size_t stride) {
  if (values == nullptr) return;
  for (std::size_t row = 0; row < count; ++row, at += stride) {
    hwy::Prefetch(values + at);
    hwy::Prefetch(values + at + lanes());
  }
}

HWY_NOINLINE void gradient(const Columns& gradient, std::size_t units, std::size_t panels,
                           const float* rows, std::size_t width, const RowState& state, float* out,
                           float* bias_out) {
  const std::size_t samples = panels * panel_width();
  const std::size_t blocks = (units + kRows - 1) / kRows;
  for (std::size_t k = 0; k < width; k += panel_width()) {
    for (std::size_t block = 0; block < blocks; ++block) {
      const std::size_t unit = block_begin(units, blocks, block);
      const std::size_t count = block_begin(units, blocks, block + 1) - unit;
      fetch(state.first, unit * width + k, count, width);
      fetch(state.second, unit * width + k, count, width);
      multiply_rows_of<kRows, Start::zero>(
          count, gradient.data + unit * panel_width(), panel_width(), gradient.stride, panels,
          panel_width(), rows + k * samples, nullptr, out + unit * width + k, width);
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
