// An update of the model by a gradient that a replica has computed, on the host.
#include <algorithm>
#include <cassert>

#include "evener/device/device.h"
#include "evener/device/vector/vector_kernels.h"

namespace evener {

namespace {

/// The same arithmetic as cpu/layer_update.cc, cpu/input_layer.cc and cpu/listed_replica.cc, in the
/// same order, so that a device's gradient gives bitwise the same result as its own step.
class GradientStep {
 public:
  GradientStep(const Training& training, const Step& step, std::span<FloatBuffer> vectors,
               std::span<float> gradient)
      : rule_(update_rule(training, step)), gradient_(gradient) {
    vectors_.weight = vectors[0].data();
    if (vectors.size() > 1) vectors_.first = vectors[1].data();
    if (vectors.size() > 2) vectors_.second = vectors[2].data();
  }

  /// Rows are units: each is clipped together with its bias.
  void dense(const LayerSegments& layer) {
    const Segment& weight = layer.weight;
    float* bias = gradient_.data() + layer.bias.offset;
    for (std::size_t unit = 0; rule_.clip > 0 && unit < weight.rows; ++unit) {
      const std::span<float> row =
          gradient_.subspan(weight.offset + unit * weight.stride, weight.stride);
      const float norm = kernels_.square_norm(row.data(), row.size()) + bias[unit] * bias[unit];
      const float factor = clip_factor(rule_.clip, norm);
      for (float& g : row) g *= factor;
      bias[unit] *= factor;
    }
    update(weight.offset, weight.size(), rule_.l2);
    update(layer.bias.offset, layer.bias.cols, 0);
  }

  /// Rows are features; the bias is a row of its own.
  void sparse(const LayerSegments& layer, std::span<const std::uint32_t> features) {
    const std::size_t width = layer.weight.stride;
    for (const std::uint32_t feature : features) {
      row(layer.weight.offset + feature * width, width, rule_.l2);
    }
    row(layer.bias.offset, width, 0);
  }

  /// All rows of the vector have one width.
  void listed(const Network& network, std::size_t width, std::span<const std::uint32_t> rows) {
    for (const std::uint32_t one : rows) {
      row(one * width, width, one == bias_row(network) ? 0 : rule_.l2);
    }
  }

 private:
  void row(std::size_t offset, std::size_t width, float l2) {
    float* values = gradient_.data() + offset;
    if (rule_.clip > 0) {
      const float factor = clip_factor(rule_.clip, kernels_.square_norm(values, width));
      for (std::size_t i = 0; i < width; ++i) values[i] *= factor;
    }
    update(offset, width, l2);
  }

  void update(std::size_t offset, std::size_t n, float l2) {
    kernels_.update(rule_, vectors_.at(offset), gradient_.data() + offset, n, l2);
  }

  const VectorKernels& kernels_ = vector_kernels();
  UpdateRule rule_;
  ModelVectors vectors_;
  std::span<float> gradient_;
};

}  // namespace

void apply_gradient(const Network& network, const Training& training, const Step& step,
                    std::span<FloatBuffer> vectors, std::span<float> gradient,
                    std::span<const std::uint32_t> rows) {
  const Layout layout = layout_of(network);
  assert(gradient.size() == layout.size);
  GradientStep update(training, step, vectors, gradient);
  if (network.listed_output()) {
    return update.listed(network, layout.layers.front().weight.stride, rows);
  }
  for (std::size_t i = 0; i < layout.layers.size(); ++i) {
    if (i == 0 && network.sparse_input()) {
      update.sparse(layout.layers[i], rows);
    } else {
      update.dense(layout.layers[i]);
    }
  }
}

}  // namespace evener
