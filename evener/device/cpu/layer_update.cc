#include "evener/device/cpu/layer_update.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace evener::cpu {

float clip_factor(float clip, float square_norm) {
  const float norm = std::sqrt(square_norm);
  return norm > clip ? clip / norm : 1.0F;
}

void TileUpdate::apply(const LayerSegments& segments, const Vectors& vectors,
                       const UpdateRule& rule, std::size_t first, std::size_t units,
                       const Columns& gradient, const Samples& samples, const float* input_rows) {
  const Kernels& k = kernels();
  const std::size_t width = segments.weight.stride;
  assert(gradient_.size() >= units * width);
  k.gradient(gradient, units, samples.panels, input_rows, width, gradient_.data(), bias_.data());
  std::fill(bias_.data() + units, bias_.data() + bias_.size(), 0.0F);
  const RowState rows = vectors.at(segments.weight.offset + first * width);
  if (rule.clip > 0) {
    for (std::size_t unit = 0; unit < units; ++unit) {
      float* row = gradient_.data() + unit * width;
      const float factor =
          clip_factor(rule.clip, k.square_norm(row, width) + bias_[unit] * bias_[unit]);
      for (std::size_t i = 0; i < width; ++i) row[i] *= factor;
      bias_[unit] *= factor;
    }
  }
  // Rows of a tile follow each other without gaps, in the gradient as in the model.
  k.update(rule, rows, gradient_.data(), units * width, rule.l2);
  k.update(rule, vectors.at(segments.bias.offset + first), bias_.data(), units, 0);
}

}  // namespace evener::cpu
