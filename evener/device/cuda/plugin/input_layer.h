// The first layer: sparse rows times the weights of their features (cuSPARSE), or the batch as a
// dense matrix.
#pragma once

#include "evener/device/cuda/plugin/session.h"

namespace evener::cuda {

class InputLayer {
 public:
  explicit InputLayer(Session& session) : session_(session) {}

  /// A sparse layer's sums without bias.
  void multiply(Activity& out);
  /// A sparse layer's update, from the gradient at its sums.
  void update(const Activity& out, const UpdateRule& rule);
  /// The features themselves.
  void scatter_to(Activity& out);

 private:
  Session& session_;
  CardArray<std::byte> workspace_;  // for cuSPARSE
};

}  // namespace evener::cuda
