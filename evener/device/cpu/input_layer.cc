#include "evener/device/cpu/input_layer.h"

#include <algorithm>
#include <cassert>

#include "evener/core/random.h"

namespace evener::cpu {

void SparseBatch::plan(const Batch& batch) {
  offsets_.assign(1, 0);
  const auto& offsets = batch.data->features.offsets;
  for (const std::uint32_t row : batch.rows) {
    offsets_.push_back(offsets_.back() + (offsets[row + 1] - offsets[row]));
  }
  if (indices_.size() < offsets_.back()) {
    indices_.resize(offsets_.back());
    values_.resize(offsets_.back());
  }
}

void SparseBatch::fill(const Batch& batch, const DropoutMask& mask, std::size_t begin,
                       std::size_t end) {
  for (std::size_t r = begin; r < std::min(end, rows()); ++r) {
    const RowView from = batch.data->features.row(batch.rows[r]);
    std::copy(from.indices.begin(), from.indices.end(), indices_.data() + offsets_[r]);
    float* to = values_.data() + offsets_[r];
    if (!mask.active()) {
      std::copy(from.values.begin(), from.values.end(), to);
      continue;
    }
    for (std::size_t i = 0; i < from.indices.size(); ++i) {
      to[i] = from.values[i] * mask.factor(static_cast<std::uint32_t>(r), from.indices[i]);
    }
  }
}

InputLayer::InputLayer(const Network& network, const LayerSegments& segments, int members)
    : segments_(segments),
      width_(segments.weight.stride),
      groups_(std::size_t{network.features} + 1, members) {
  assert(segments.weight.offset == 0 && segments.bias.offset == segments.weight.size());
  for (int i = 0; i < members; ++i) scratch_.emplace_back(kMaxPanel * width_);
}

void InputLayer::resize(const Samples& samples) {
  if (error_rows_.size() < samples.padded * width_) {
    error_rows_ = FloatBuffer(samples.padded * width_);
  }
}

void InputLayer::forward(const SparseBatch& batch, const ModelVectors& vectors, Activity& out,
                         int member, std::size_t begin, std::size_t end) {
  const Kernels& k = kernels();
  float* rows = scratch_[static_cast<std::size_t>(member)].data();
  const float* weights = vectors.weight + segments_.weight.offset;
  const float* bias = vectors.weight + segments_.bias.offset;
  const Columns columns = out.columns();
  for (std::size_t p = begin; p < end; ++p) {
    for (std::size_t i = 0; i < k.panel; ++i) {
      const std::size_t sample = p * k.panel + i;
      if (sample < batch.rows()) {
        const RowView row = batch.row(sample);
        k.gather(weights, width_, width_, bias, row.indices.data(), row.values.data(),
                 row.indices.size(), rows + i * width_);
      } else {
        std::fill_n(rows + i * width_, width_, 0.0F);
      }
    }
    for (std::size_t unit = 0; unit < width_; unit += k.panel) {
      k.transpose(rows + unit, width_, columns.data + p * columns.stride + unit * k.panel, k.panel);
    }
  }
}

void InputLayer::take_error(Activity& out, std::size_t begin, std::size_t end) {
  out.error_rows(error_rows_.data(), begin, end);
}

void InputLayer::update(const SparseBatch& batch, const ModelVectors& vectors,
                        const UpdateRule& rule, int member) {
  const auto bias = static_cast<std::uint32_t>(segments_.weight.rows);
  const auto& mine = groups_.group(member, [&](auto use) {
    for (std::size_t r = 0; r < batch.rows(); ++r) batch.for_inputs(r, bias, use);
  });
  float* gradient = scratch_[static_cast<std::size_t>(member)].data();
  update_rows(mine, {error_rows_.data(), width_}, vectors, rule, bias, gradient);
}

}  // namespace evener::cpu
