// The element-wise arithmetic of a step, shared by the card's kernels and the host. Most build
// machines have no card, so the tests check these functions on the host. nn/training.h and
// nn/network.h have the formulas.
#pragma once

#include <cmath>
#include <cstdint>

#include "evener/device/update_rule.h"
#include "evener/nn/network.h"
#include "evener/nn/training.h"

#ifdef __CUDACC__
#define EVENER_HOST_DEVICE __host__ __device__
#else
#define EVENER_HOST_DEVICE
#endif

namespace evener::cuda {

/// Below every logit: the initial value of a maximum, and of empty entries in lists of best labels.
inline constexpr float kLowest = -1e30F;

/// 1 / (1 + exp(-z)); the exponential's argument is never positive, so nothing overflows.
EVENER_HOST_DEVICE inline float logistic(float z) {
  const float e = std::exp(-std::fabs(z));
  return (z < 0 ? e : 1.0F) / (1.0F + e);
}

EVENER_HOST_DEVICE inline float activation_of(Activation activation, float z) {
  if (activation == Activation::relu) return z > 0 ? z : 0.0F;
  return activation == Activation::sigmoid ? logistic(z) : std::tanh(z);
}

/// The derivative, from the activation's output.
EVENER_HOST_DEVICE inline float derivative_of(Activation activation, float y) {
  if (activation == Activation::relu) return y > 0 ? 1.0F : 0.0F;
  return activation == Activation::sigmoid ? y * (1.0F - y) : 1.0F - y * y;
}

/// The same as mix32 in core/random.h, which is host code.
EVENER_HOST_DEVICE inline std::uint32_t mix(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7FEB352DU;
  x = (x ^ (x >> 15)) * 0x846CA68BU;
  return x ^ (x >> 16);
}

/// A DropoutMask for kernels.
struct Dropout {
  std::uint32_t threshold = 0;  // 0: off
  std::uint32_t key = 0;
  float scale = 1;

  EVENER_HOST_DEVICE float factor(std::uint32_t sample, std::uint32_t unit) const {
    if (threshold == 0) return 1.0F;
    return mix(mix(sample ^ key) + unit) < threshold ? 0.0F : scale;
  }
};

inline Dropout dropout_for(const DropoutMask& mask) {
  return {mask.threshold(), mask.key(), mask.scale()};
}

/// The output of a hidden unit.
EVENER_HOST_DEVICE inline float unit_output(Activation activation, const Dropout& dropout, float z,
                                            std::uint32_t sample, std::uint32_t unit) {
  return activation_of(activation, z) * dropout.factor(sample, unit);
}

/// The gradient at a unit's sum, from the gradient at its output. The output of a dropped unit is
/// 0, which does not determine its activation, but then the factor is 0 too.
EVENER_HOST_DEVICE inline float unit_error(Activation activation, const Dropout& dropout,
                                           float output, float error, std::uint32_t sample,
                                           std::uint32_t unit) {
  const float factor = dropout.factor(sample, unit);
  const float y = factor > 0 ? output / factor : 0.0F;
  return error * factor * derivative_of(activation, y);
}

/// An element-wise loss at a logit whose target is 0, and its derivative. (A target of 1 subtracts
/// 1 from the derivative; device/accelerator/label_results.h has the loss.)
struct PointLoss {
  float loss, gradient;
};

EVENER_HOST_DEVICE inline PointLoss point_loss(Loss loss, float z) {
  if (loss == Loss::squared) return {0.5F * z * z, z};
  const float e = std::exp(-std::fabs(z));
  return {(z > 0 ? z : 0.0F) + std::log1p(e), (z < 0 ? e : 1.0F) / (1.0F + e)};
}

/// The factor that converts a sum of exp(z - top) to one of exp(z - overall).
EVENER_HOST_DEVICE inline float rescaling(float top, float overall) {
  return std::exp(top - overall);
}

/// Whether label a with logit x ranks before label b with logit y.
EVENER_HOST_DEVICE inline bool ranks_before(float x, std::uint32_t a, float y, std::uint32_t b) {
  return x > y || (x == y && a < b);
}

EVENER_HOST_DEVICE inline float clip_factor(float clip, float square_norm) {
  const float norm = std::sqrt(square_norm);
  return norm > clip ? clip / norm : 1.0F;
}

/// One parameter with its optimizer state, from its gradient; state that the rule does not keep is
/// not touched.
template <Optimizer kOptimizer>
EVENER_HOST_DEVICE inline void update(const UpdateRule& rule, float l2, float g, float* weight,
                                      float* first, float* second) {
  if constexpr (kOptimizer == Optimizer::accumulate) {
    *first += l2 == 0 ? g : g + l2 * *weight;  // without l2 the weight is not read
    return;
  }
  const float w = *weight;
  g += l2 * w;
  if constexpr (kOptimizer == Optimizer::sgd) {
    *weight = w - rule.learning_rate * g;
  } else if constexpr (kOptimizer == Optimizer::momentum) {
    const float s = rule.momentum * *first + g;
    *first = s;
    *weight = w - rule.learning_rate * s;
  } else if constexpr (kOptimizer == Optimizer::adam) {
    const float m = rule.momentum * *first + (1.0F - rule.momentum) * g;
    const float v = rule.beta2 * *second + (1.0F - rule.beta2) * g * g;
    *first = m;
    *second = v;
    *weight = w - rule.learning_rate * m / (std::sqrt(v) * rule.root_scale + rule.epsilon);
  } else if constexpr (kOptimizer == Optimizer::adagrad) {
    const float s = *first + g * g;
    *first = s;
    *weight = w - rule.learning_rate * g / (std::sqrt(s) + rule.epsilon);
  }
}

}  // namespace evener::cuda
