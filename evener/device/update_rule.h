// The constants of one update, worked out once a step; nn/training.h has the formulas.
#pragma once

#include "evener/nn/training.h"

namespace evener {

struct UpdateRule {
  Optimizer optimizer;
  float learning_rate;  // adam: divided by 1 - beta1^t
  float momentum;       // adam: beta1
  float beta2;
  float root_scale;  // adam: 1 / sqrt(1 - beta2^t)
  float epsilon;
  float l2;
  float clip;
};
UpdateRule update_rule(const Training& training, const Step& step);

}  // namespace evener
