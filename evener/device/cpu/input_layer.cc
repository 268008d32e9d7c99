#include "evener/device/cpu/input_layer.h"

#include <algorithm>

#include "evener/core/random.h"
#include "evener/device/cpu/layer_update.h"

namespace evener::cpu {

namespace {

// Prefetches a row that is needed soon: rows of features are scattered in memory.
void fetch(const RowState& row, std::size_t width) {
  constexpr std::size_t kLine = 64 / sizeof(float);
  for (const float* values : {row.weight, row.first, row.second}) {
    if (values == nullptr) continue;
    for (std::size_t i = 0; i < width; i += kLine) __builtin_prefetch(values + i, 1);
  }
}

}  // namespace

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
      members_(members),
      slots_(network.features),
      groupings_(static_cast<std::size_t>(members)) {
  for (auto& grouping : groupings_) grouping.scratch = FloatBuffer(kMaxPanel * width_);
}

void InputLayer::resize(const Samples& samples) {
  if (error_rows_.size() < samples.padded * width_) {
    error_rows_ = FloatBuffer(samples.padded * width_);
  }
}

void InputLayer::forward(const SparseBatch& batch, const ModelVectors& vectors, Activity& out,
                         int member, std::size_t begin, std::size_t end) {
  const Kernels& k = kernels();
  float* rows = groupings_[static_cast<std::size_t>(member)].scratch.data();
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

// A counting sort of the member's occurrences by feature. A hash assigns features to members, since
// neighbouring indices tend to have similar frequencies.
void InputLayer::group(const SparseBatch& batch, int member) {
  Grouping& mine = groupings_[static_cast<std::size_t>(member)];
  mine.features.clear();
  mine.begins.assign(1, 0);
  const auto members = static_cast<std::uint64_t>(members_);
  const auto owned = [&](std::uint32_t feature) {
    return members == 1 || (std::uint64_t{feature * 0x9E3779B1U} * members >> 32) ==
                               static_cast<std::uint64_t>(member);
  };
  std::size_t total = 0;
  for (std::size_t r = 0; r < batch.rows(); ++r) {
    for (const std::uint32_t feature : batch.row(r).indices) {
      if (!owned(feature)) continue;
      std::uint32_t& slot = slots_[feature];
      if (slot == 0) {
        mine.features.push_back(feature);
        mine.begins.push_back(0);
        slot = static_cast<std::uint32_t>(mine.features.size());
      }
      ++mine.begins[slot];
      ++total;
    }
  }
  for (std::size_t i = 1; i < mine.begins.size(); ++i) mine.begins[i] += mine.begins[i - 1];
  mine.samples.resize(std::max(mine.samples.size(), total));
  mine.values.resize(std::max(mine.values.size(), total));
  for (std::size_t r = 0; r < batch.rows(); ++r) {
    const RowView row = batch.row(r);
    for (std::size_t i = 0; i < row.indices.size(); ++i) {
      if (!owned(row.indices[i])) continue;
      const std::uint32_t place = mine.begins[slots_[row.indices[i]] - 1]++;
      mine.samples[place] = static_cast<std::uint32_t>(r);
      mine.values[place] = row.values[i];
    }
  }
  // Each begin has moved to its end, which is the next one's begin: shift back.
  for (std::size_t i = mine.begins.size() - 1; i > 0; --i) mine.begins[i] = mine.begins[i - 1];
  mine.begins[0] = 0;
  for (const std::uint32_t feature : mine.features) slots_[feature] = 0;
}

void InputLayer::update(const SparseBatch& batch, const ModelVectors& vectors,
                        const UpdateRule& rule, const Samples& samples, int member) {
  const Kernels& k = kernels();
  const VectorKernels& v = vector_kernels();
  group(batch, member);
  Grouping& mine = groupings_[static_cast<std::size_t>(member)];
  float* gradient = mine.scratch.data();
  const auto clipped_update = [&](const RowState& row, float l2) {
    if (rule.clip > 0) {
      const float factor = clip_factor(rule.clip, v.square_norm(gradient, width_));
      for (std::size_t i = 0; i < width_; ++i) gradient[i] *= factor;
    }
    v.update(rule, row, gradient, width_, l2);
  };
  const auto row_of = [&](std::size_t i) {
    return vectors.at(segments_.weight.offset + mine.features[i] * width_);
  };
  for (std::size_t i = 0; i < mine.features.size(); ++i) {
    if (i + 1 < mine.features.size()) fetch(row_of(i + 1), width_);
    const std::size_t begin = mine.begins[i];
    k.gather(error_rows_.data(), width_, width_, nullptr, mine.samples.data() + begin,
             mine.values.data() + begin, mine.begins[i + 1] - begin, gradient);
    clipped_update(row_of(i), rule.l2);
  }
  if (member == members_ - 1) {  // the bias: as a feature that is 1 in every sample
    mine.samples.resize(std::max(mine.samples.size(), samples.count));
    mine.values.resize(std::max(mine.values.size(), samples.count));
    for (std::size_t s = 0; s < samples.count; ++s) {
      mine.samples[s] = static_cast<std::uint32_t>(s);
      mine.values[s] = 1.0F;
    }
    k.gather(error_rows_.data(), width_, width_, nullptr, mine.samples.data(), mine.values.data(),
             samples.count, gradient);
    clipped_update(vectors.at(segments_.bias.offset), 0);
  }
}

}  // namespace evener::cpu
