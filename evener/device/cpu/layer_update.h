// Gradient and update of a tile of units while it is in the cache, shared by hidden layers and the
// output layer.
#pragma once

#include "evener/core/buffer.h"
#include "evener/device/cpu/batch_state.h"
#include "evener/device/cpu/kernels.h"
#include "evener/nn/network.h"

namespace evener::cpu {

/// A member's scratch memory for one tile's gradient, in layers with up to `width` inputs.
class TileUpdate {
 public:
  explicit TileUpdate(std::size_t width)
      : gradient_(kernels().tile * width), bias_(padded(kernels().tile)) {}

  /// Updates units [first, first + units) of a layer from the gradient at them (columns layout, its
  /// unit 0 is `first`) and the layer's input.
  void apply(const LayerSegments& segments, const ModelVectors& vectors, const UpdateRule& rule,
             std::size_t first, std::size_t units, const Columns& gradient, const Samples& samples,
             const float* input_rows);

 private:
  FloatBuffer gradient_;
  FloatBuffer bias_;
};

}  // namespace evener::cpu
