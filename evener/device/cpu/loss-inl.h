// Activations, losses and top-k filters over columns. Included once per instruction set.
#if defined(EVENER_CPU_LOSS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef EVENER_CPU_LOSS_INL
#undef EVENER_CPU_LOSS_INL
#else
#define EVENER_CPU_LOSS_INL
#endif

#include <cstdint>

#include "hwy/contrib/math/math-inl.h"

#include "evener/device/cpu/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace evener::cpu {
namespace HWY_NAMESPACE {

using Words = hn::RebindToUnsigned<Floats>;
using WordVec = hn::Vec<Words>;
constexpr Words kWords;

// 1 / (1 + exp(-z)), from exp(-|z|) so that nothing overflows.
HWY_INLINE Vec sigmoid(Vec z, Vec e) {
  const Vec one = hn::Set(kFloats, 1.0F);
  const Vec large = hn::Div(one, hn::Add(one, e));
  return hn::IfThenElse(hn::Lt(z, hn::Zero(kFloats)), hn::Sub(one, large), large);
}

HWY_INLINE Vec activation_of(Activation activation, Vec z) {
  switch (activation) {
    case Activation::relu:
      return hn::Max(z, hn::Zero(kFloats));
    case Activation::sigmoid:
      return sigmoid(z, exp_of(hn::Neg(hn::Abs(z))));
    case Activation::tanh:
      return hn::Tanh(kFloats, z);
  }
  return z;
}

// The derivative through the output: relu y > 0, sigmoid y (1 - y), tanh 1 - y^2.
HWY_INLINE Vec derivative_of(Activation activation, Vec y) {
  const Vec one = hn::Set(kFloats, 1.0F);
  switch (activation) {
    case Activation::relu:
      return hn::IfThenElseZero(hn::Gt(y, hn::Zero(kFloats)), one);
    case Activation::sigmoid:
      return hn::Mul(y, hn::Sub(one, y));
    case Activation::tanh:
      return hn::NegMulAdd(y, y, one);
  }
  return one;
}

// DropoutMask::factor for the samples of one vector: the same hash, lane by lane.
HWY_INLINE WordVec mix(WordVec x) {
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(kWords, 0x7FEB352DU));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<15>(x)), hn::Set(kWords, 0x846CA68BU));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

HWY_INLINE WordVec row_hash(const DropoutMask& mask, std::size_t first_sample) {
  const auto row = hn::Iota(kWords, static_cast<std::uint32_t>(first_sample));
  return mix(hn::Xor(row, hn::Set(kWords, mask.key())));
}

HWY_INLINE auto kept(const DropoutMask& mask, WordVec hash, std::size_t unit) {
  const auto x = mix(hn::Add(hash, hn::Set(kWords, static_cast<std::uint32_t>(unit))));
  // Unsigned x >= threshold, which not every instruction set has: the larger of both is x.
  const auto threshold = hn::Set(kWords, mask.threshold());
  return hn::RebindMask(kFloats, hn::Eq(hn::Max(x, threshold), x));
}

HWY_NOINLINE void activate(Activation activation, const DropoutMask& mask, const Columns& values,
                           std::size_t units, std::size_t panels, std::size_t first) {
  const Vec scale = hn::Set(kFloats, mask.scale());
  for (std::size_t p = 0; p < panels; ++p) {
    for (std::size_t half = 0; half < 2; ++half) {
      const WordVec hash = row_hash(mask, first + p * panel_width() + half * lanes());
      float* at = values.data + p * values.stride + half * lanes();
      for (std::size_t unit = 0; unit < units; ++unit, at += panel_width()) {
        Vec y = activation_of(activation, hn::Load(kFloats, at));
        if (mask.active()) y = hn::IfThenElseZero(kept(mask, hash, unit), hn::Mul(y, scale));
        hn::Store(y, kFloats, at);
      }
    }
  }
}

HWY_NOINLINE void derive(Activation activation, const DropoutMask& mask, const Columns& output,
                         const Columns& error, std::size_t units, std::size_t panels,
                         std::size_t first) {
  const Vec scale = hn::Set(kFloats, mask.scale());
  const Vec unscale = hn::Set(kFloats, 1.0F / mask.scale());
  for (std::size_t p = 0; p < panels; ++p) {
    for (std::size_t half = 0; half < 2; ++half) {
      const WordVec hash = row_hash(mask, first + p * panel_width() + half * lanes());
      const float* y_at = output.data + p * output.stride + half * lanes();
      float* e_at = error.data + p * error.stride + half * lanes();
      for (std::size_t unit = 0; unit < units;
           ++unit, y_at += panel_width(), e_at += panel_width()) {
        Vec e = hn::Load(kFloats, e_at);
        Vec y = hn::Load(kFloats, y_at);
        if (mask.active()) {
          y = hn::Mul(y, unscale);
          e = hn::IfThenElseZero(kept(mask, hash, unit), hn::Mul(e, scale));
        }
        hn::Store(hn::Mul(e, derivative_of(activation, y)), kFloats, e_at);
      }
    }
  }
}

HWY_NOINLINE void transpose(const float* in, std::size_t in_row, float* out, std::size_t out_row) {
  for (std::size_t j = 0; j < panel_width(); ++j) {
    for (std::size_t i = 0; i < panel_width(); ++i) out[j * out_row + i] = in[i * in_row + j];
  }
}

HWY_NOINLINE void exponentiate(const Columns& logits, std::size_t units, std::size_t panels,
                               float* maximum, float* sum) {
  for (std::size_t p = 0; p < panels; ++p) {
    for (std::size_t half = 0; half < 2; ++half) {
      const std::size_t sample = p * panel_width() + half * lanes();
      float* column = logits.data + p * logits.stride + half * lanes();
      const Vec before = hn::Load(kFloats, maximum + sample);
      Vec top = before;
      for (std::size_t unit = 0; unit < units; ++unit) {
        top = hn::Max(top, hn::Load(kFloats, column + unit * panel_width()));
      }
      Vec total = hn::Mul(hn::Load(kFloats, sum + sample), exp_of(hn::Sub(before, top)));
      for (std::size_t unit = 0; unit < units; ++unit) {
        float* at = column + unit * panel_width();
        const Vec e = exp_of(hn::Sub(hn::Load(kFloats, at), top));
        hn::Store(e, kFloats, at);
        total = hn::Add(total, e);
      }
      hn::Store(top, kFloats, maximum + sample);
      hn::Store(total, kFloats, sum + sample);
    }
  }
}

HWY_NOINLINE void normalise(const Columns& values, std::size_t units, std::size_t panels,
                            const float* maximum, const float* factor) {
  for (std::size_t p = 0; p < panels; ++p) {
    for (std::size_t half = 0; half < 2; ++half) {
      const std::size_t sample = p * panel_width() + half * lanes();
      const Vec top = hn::Load(kFloats, maximum + sample);
      const Vec f = hn::Load(kFloats, factor + sample);
      float* at = values.data + p * values.stride + half * lanes();
      for (std::size_t unit = 0; unit < units; ++unit, at += panel_width()) {
        const Vec e = exp_of(hn::Sub(hn::Load(kFloats, at), top));
        hn::Store(hn::Mul(e, f), kFloats, at);
      }
    }
  }
}

HWY_NOINLINE void pointwise(Loss kind, const Columns& logits, std::size_t units, std::size_t panels,
                            const float* factor, float* loss) {
  const Vec zero = hn::Zero(kFloats);
  const Vec half_one = hn::Set(kFloats, 0.5F);
  for (std::size_t p = 0; p < panels; ++p) {
    for (std::size_t half = 0; half < 2; ++half) {
      const std::size_t sample = p * panel_width() + half * lanes();
      const Vec f = hn::Load(kFloats, factor + sample);
      Vec total = hn::Load(kFloats, loss + sample);
      float* at = logits.data + p * logits.stride + half * lanes();
      for (std::size_t unit = 0; unit < units; ++unit, at += panel_width()) {
        const Vec z = hn::Load(kFloats, at);
        Vec slope = z;
        if (kind == Loss::sigmoid) {
          const Vec e = exp_of(hn::Neg(hn::Abs(z)));
          total = hn::Add(total, hn::Add(hn::Max(z, zero), hn::Log1p(kFloats, e)));
          slope = sigmoid(z, e);
        } else {
          total = hn::MulAdd(hn::Mul(half_one, z), z, total);
        }
        hn::Store(hn::Mul(f, slope), kFloats, at);
      }
      hn::Store(total, kFloats, loss + sample);
    }
  }
}

HWY_NOINLINE std::uint32_t above(const float* logits, const float* threshold) {
  std::uint32_t bits = 0;
  for (std::size_t half = 0; half < 2; ++half) {
    const auto mask = hn::Gt(hn::Load(kFloats, logits + half * lanes()),
                             hn::Load(kFloats, threshold + half * lanes()));
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(kFloats, mask, bytes);
    bits |= (bytes[0] | static_cast<std::uint32_t>(bytes[1]) << 8) << (half * lanes());
  }
  return bits;
}

}  // namespace HWY_NAMESPACE
}  // namespace evener::cpu
HWY_AFTER_NAMESPACE();
#endif
