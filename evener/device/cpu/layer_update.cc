#include "evener/device/cpu/layer_update.h"

#include <algorithm>
#include <cassert>

namespace evener::cpu {

void TileUpdate::apply(const LayerSegments& segments, const ModelVectors& vectors,
                       const UpdateRule& rule, std::size_t first, std::size_t units,
                       const Columns& gradient, const Samples& samples, const float* input_rows) {
  const Kernels& k = kernels();
  const VectorKernels& v = vector_kernels();
  const std::size_t width = segments.weight.stride;
  assert(gradient_.size() >= units * width);
  const RowState rows = vectors.at(segments.weight.offset + first * width);
  k.gradient(gradient, units, samples.panels, input_rows, width, rows, gradient_.data(),
             bias_.data());
  std::fill(bias_.data() + units, bias_.data() + bias_.size(), 0.0F);
  if (rule.clip > 0) {
    for (std::size_t unit = 0; unit < units; ++unit) {
      float* row = gradient_.data() + unit * width;
      const float factor =
          clip_factor(rule.clip, v.square_norm(row, width) + bias_[unit] * bias_[unit]);
      for (std::size_t i = 0; i < width; ++i) row[i] *= factor;
      bias_[unit] *= factor;
    }
  }
  // Rows of a tile follow each other without gaps, in the gradient as in the model.
  v.update(rule, rows, gradient_.data(), units * width, rule.l2);
  v.update(rule, vectors.at(segments.bias.offset + first), bias_.data(), units, 0);
}

}  // namespace evener::cpu
