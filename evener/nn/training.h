// How a network is trained: everything that decides what one step does to the parameters.
//
// One step on a batch of n rows computes g = gradient of the mean loss, then for each row of each
// weight matrix (with the row's bias, where rows are units):
//   clip    if clip > 0 and |g| > clip: g *= clip / |g|     (per row: a fused update never holds
//           the gradient of the whole matrix, so its global norm is not known in time)
//   l2      g += l2 * w                                      (weights, not biases)
//   update  the optimizer's rule below, element by element
// The sparse input layer updates only rows of features that occur in the batch ("lazy"), dropped or
// not; rows that do not occur keep weights and optimizer state. Its bias is a row of its own. A
// listed output updates only rows of labels that are candidates of a row of the batch.
#pragma once

#include <cstdint>
#include <string>

#include "evener/core/random.h"

namespace evener {

/// sgd: w -= lr g.  momentum: s = mu s + g, w -= lr s.  adagrad: s += g^2, w -= lr g/(sqrt(s)+eps).
/// adam: m = b1 m + (1-b1) g, v = b2 v + (1-b2) g^2, w -= lr (m/(1-b1^t)) / (sqrt(v/(1-b2^t))+eps).
/// accumulate: s += g, and w stays: for gradients that are summed over devices first. Users cannot
/// select it.
enum class Optimizer { sgd, momentum, adam, adagrad, accumulate };

std::string to_string(Optimizer optimizer);
Optimizer parse_optimizer(const std::string& name);

/// How many state vectors, each laid out as the parameters, the rule keeps: 0, 1, 2, 1, 1.
int state_vectors(Optimizer optimizer);
/// Which of them holds the squares of gradients (v of adam, s of adagrad), counted from 1; 0: none.
int second_moments(Optimizer optimizer);

struct Training {
  Optimizer optimizer = Optimizer::adam;
  float momentum = 0.9F;
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float epsilon = 1e-8F;
  float l2 = 0;
  float clip = 0;           // 0: off
  float dropout = 0;        // share of hidden units dropped
  float input_dropout = 0;  // share of non-zero features dropped
  std::uint64_t seed = 1;
};

/// The place of one update in the run.
struct Step {
  std::uint64_t number = 1;  // counts from 1; adam's t, and the key of the dropout masks
  float learning_rate = 1e-3F;
};

/// The mask of one layer in one step; layer 0 is the input. Kept units are scaled by 1/(1-rate), so
/// nothing changes at prediction.
class DropoutMask {
 public:
  DropoutMask(float rate, std::uint64_t seed, std::uint64_t step, std::uint32_t layer)
      : threshold_(static_cast<std::uint32_t>(static_cast<double>(rate) * 0x1p32)),
        scale_(1.0F / (1.0F - rate)),
        key_(philox({static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(step >> 32),
                     layer, 0x6D61736B},
                    seed)[0]) {}

  bool active() const { return threshold_ != 0; }
  // For kernels that compute many factors at a time.
  std::uint32_t threshold() const { return threshold_; }
  float scale() const { return scale_; }
  std::uint32_t key() const { return key_; }

  /// The factor of unit `unit` in row `row` of the batch: 0, or the scale.
  float factor(std::uint32_t row, std::uint32_t unit) const {
    return mix32(mix32(row ^ key_) + unit) < threshold_ ? 0.0F : scale_;
  }

 private:
  std::uint32_t threshold_;
  float scale_;
  std::uint32_t key_;
};

}  // namespace evener
