// The three products of dense layers, and the update that follows the third.
#pragma once

#include "evener/device/cuda/plugin/session.h"
#include "evener/device/cuda/products.h"

namespace evener::cuda {

class DenseLayers {
 public:
  explicit DenseLayers(Session& session);

  /// For layers of up to `units` units at a time.
  void reserve(std::size_t units);

  // Units [first, first + units) of a layer; `sums` and `gradient` have rows of `stride` floats,
  // which begin with unit `first`.

  /// Without biases.
  void forward(const LayerSegments& layer, std::size_t first, std::size_t units, const Activity& in,
               float* sums, std::size_t stride);
  /// Computes the error of `in`: replaces it if `overwrite`, else adds to it.
  void backward(const LayerSegments& layer, std::size_t first, std::size_t units,
                const float* gradient, std::size_t stride, const Activity& in, bool overwrite);
  void update(const LayerSegments& layer, std::size_t first, std::size_t units,
              const float* gradient, std::size_t stride, const Activity& in,
              const UpdateRule& rule);

 private:
  Matrix weight(const LayerSegments& layer, std::size_t first, std::size_t units) const;
  Matrix batch(const float* data, std::size_t units, std::size_t stride) const;
  void multiply(const Gemm& product);

  Session& session_;
  CardArray<float> gradient_;  // of some units' weights
  CardArray<float> bias_;      // of all current units
};

}  // namespace evener::cuda
