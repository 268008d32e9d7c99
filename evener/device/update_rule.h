// The constants of one update, computed once a step; nn/training.h has the formulas.
#pragma once

#include "evener/nn/training.h"

namespace evener {

struct UpdateRule {
  Optimizer optimizer;
  float learning_rate;  // adam: divided by 1 - beta1^t
  float momentum;       // adam: beta1
  float beta2;
  float root_scale;  // adam: 1 / sqrt(1 - beta2^t)
  float least_v;     // adam: v is at least this times m^2, see least_share_of_square()
  float epsilon;
  float l2;
  float clip;
};
/// Adam's m and v are sums over the same gradients, so v >= share * m^2 for any gradients
/// (Cauchy-Schwarz). Threads that race on one model lose parts of either sum; a lost part of v
/// alone would make m / sqrt(v) as large as m / epsilon, a step that ruins the model. So updates
/// restore the bound if threads may race; with a single thread it always holds. 0 if beta1^2 >=
/// beta2, for which there is no bound.
float least_share_of_square(float beta1, float beta2);

UpdateRule update_rule(const Training& training, const Step& step);

/// The clipping factor for a gradient of this squared norm.
float clip_factor(float clip, float square_norm);

}  // namespace evener
