// The exponential function of softmax and sigmoid. Included once per instruction set.
#if defined(EVENER_CPU_EXP_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef EVENER_CPU_EXP_INL
#undef EVENER_CPU_EXP_INL
#else
#define EVENER_CPU_EXP_INL
#endif

#include "evener/device/vector/racing-inl.h"

// Arrays of vectors that the compiler must keep in registers: everything that indexes them is
// unrolled.
#define EVENER_UNROLL _Pragma("GCC unroll 16")

HWY_BEFORE_NAMESPACE();
namespace evener::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace evener::HWY_NAMESPACE;  // vectors and how they are loaded

// e^x for x <= 0, to about one unit in the last place; the softmax and sigmoid need no other x.
// x = n ln 2 + r with |r| <= ln 2 / 2, so e^x = 2^n e^r: a polynomial (Cephes' coefficients) and an
// exponent set by hand. From -87.3 down it is 2^-126 instead of less, which is as good as zero.
//
// One value is a chain of 14 dependent operations. A processor looks too few operations ahead to
// overlap enough of them, so `N` values go through each operation together.
template <int N>
HWY_INLINE void exp_of_each(Vec* HWY_RESTRICT x) {
  // Adding this rounds to an integer, and leaves n + 127 in the lowest bits: the exponent.
  const Vec magic = hn::Set(kFloats, 12582912.0F + 127.0F);
  constexpr float kCoefficients[] = {1.3981999507e-3F,
                                     8.3334519073e-3F,
                                     4.1665795894e-2F,
                                     1.6666665459e-1F,
                                     5.0000001201e-1F,
                                     1.0F,
                                     1.0F};
  Vec n[N], r[N], p[N];
  EVENER_UNROLL for (int i = 0; i < N; ++i) x[i] = hn::Max(x[i], hn::Set(kFloats, -87.3F));
  EVENER_UNROLL for (int i = 0; i < N; ++i) {
    n[i] = hn::MulAdd(x[i], hn::Set(kFloats, 1.44269504F), magic);
  }
  EVENER_UNROLL for (int i = 0; i < N; ++i) r[i] = hn::Sub(n[i], magic);
  // ln 2 in two parts, the first with few enough bits that n times it is exact.
  EVENER_UNROLL for (int i = 0; i < N; ++i) {
    x[i] = hn::NegMulAdd(r[i], hn::Set(kFloats, 0.693359375F), x[i]);
  }
  EVENER_UNROLL for (int i = 0; i < N; ++i) {
    r[i] = hn::NegMulAdd(r[i], hn::Set(kFloats, -2.12194440e-4F), x[i]);
  }
  EVENER_UNROLL for (int i = 0; i < N; ++i) p[i] = hn::Set(kFloats, 1.9875691500e-4F);
  EVENER_UNROLL for (int c = 0; c < 7; ++c) {
    EVENER_UNROLL for (int i = 0; i < N; ++i) {
      p[i] = hn::MulAdd(p[i], r[i], hn::Set(kFloats, kCoefficients[c]));
    }
  }
  const hn::RebindToSigned<Floats> integers;
  EVENER_UNROLL for (int i = 0; i < N; ++i) {
    const auto power = hn::ShiftLeft<23>(hn::BitCast(integers, n[i]));
    x[i] = hn::Mul(p[i], hn::BitCast(kFloats, power));
  }
}

HWY_INLINE Vec exp_of(Vec x) {
  exp_of_each<1>(&x);
  return x;
}

}  // namespace HWY_NAMESPACE
}  // namespace evener::cpu
HWY_AFTER_NAMESPACE();
#endif
