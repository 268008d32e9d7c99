#include "evener/device/accelerator/batch_image.h"

#include <algorithm>
#include <bit>

namespace evener {

namespace {

constexpr std::uint32_t kAligned = 32;  // alignment of sections, in words

std::uint32_t end_of(const BatchImage& image) {
  return static_cast<std::uint32_t>(image.words.size());
}

/// Adds a section and returns its offset.
std::uint32_t add_section(BatchImage& image, std::size_t size, std::uint32_t align = 1) {
  const std::uint32_t begin = (end_of(image) + align - 1) / align * align;
  image.words.resize(begin + size);
  return begin;
}

}  // namespace

std::uint32_t BatchImage::target_at(std::uint32_t label) const {
  const auto labels = section(target_labels, targets);
  return static_cast<std::uint32_t>(std::lower_bound(labels.begin(), labels.end(), label) -
                                    labels.begin());
}

void BatchKey::set(const Batch& batch, const Step& at, bool with_groups) {
  rows.assign(batch.rows.begin(), batch.rows.end());
  step = at.number;
  grouped = with_groups;
}

bool BatchKey::is(const Batch& batch, const Step& at, bool with_groups) const {
  return step != 0 && step == at.number && grouped == with_groups &&
         std::equal(rows.begin(), rows.end(), batch.rows.begin(), batch.rows.end());
}

BatchImager::BatchImager(const Network& network, std::uint32_t panel)
    : network_(network), panel_(panel), slot_of_(network.sparse_input() ? network.features : 0) {}

void BatchImager::make(const Batch& batch, const DropoutMask& mask, bool grouped,
                       BatchImage& image) {
  image.words.clear();
  image.count = static_cast<std::uint32_t>(batch.rows.size());
  image.samples = (image.count + panel_ - 1) / panel_ * panel_;
  add_rows(batch, mask, image);
  image.slots = 0;
  if (grouped && network_.sparse_input()) add_slots(image);
  add_targets(batch, image);
}

void BatchImager::add_rows(const Batch& batch, const DropoutMask& mask, BatchImage& image) {
  image.offsets = add_section(image, image.count + 1);
  std::uint32_t total = 0;
  for (std::uint32_t s = 0; s < image.count; ++s) {
    image.words[image.offsets + s] = total;
    const auto& offsets = batch.data->features.offsets;
    total += static_cast<std::uint32_t>(offsets[batch.rows[s] + 1] - offsets[batch.rows[s]]);
  }
  image.words[image.offsets + image.count] = total;
  image.features = add_section(image, total, kAligned);
  image.values = add_section(image, total, kAligned);
  std::uint32_t* feature = image.words.data() + image.features;
  std::uint32_t* value = image.words.data() + image.values;
  for (std::uint32_t s = 0; s < image.count; ++s) {
    const RowView row = batch.data->features.row(batch.rows[s]);
    feature = std::copy(row.indices.begin(), row.indices.end(), feature);
    for (std::size_t i = 0; i < row.indices.size(); ++i) {
      const float factor = mask.active() ? mask.factor(s, row.indices[i]) : 1.0F;
      *value++ = std::bit_cast<std::uint32_t>(row.values[i] * factor);
    }
  }
}

// A counting sort by feature, slots in order of first occurrence.
void BatchImager::add_slots(BatchImage& image) {
  const std::uint32_t total = image.words[image.offsets + image.count];
  image.slot_features = end_of(image);
  std::vector<std::uint32_t> sizes;
  for (std::uint32_t i = 0; i < total; ++i) {
    const std::uint32_t feature = image.words[image.features + i];
    std::uint32_t& slot = slot_of_[feature];
    if (slot == 0) {
      image.words.push_back(feature);
      sizes.push_back(0);
      slot = static_cast<std::uint32_t>(sizes.size());
    }
    ++sizes[slot - 1];
  }
  const auto features = static_cast<std::uint32_t>(sizes.size());
  image.slots = features + 1;
  image.slot_begins = add_section(image, image.slots + 1);
  image.slot_samples = add_section(image, total + image.count);
  image.slot_values = add_section(image, total + image.count);

  std::uint32_t* words = image.words.data();
  std::uint32_t* begins = words + image.slot_begins;
  std::uint32_t begin = 0;
  for (std::uint32_t slot = 0; slot < features; ++slot) {
    begins[slot] = begin;
    begin += sizes[slot];
    sizes[slot] = begins[slot];  // from now on: position of the next occurrence
  }
  begins[features] = total;
  begins[features + 1] = total + image.count;
  const std::uint32_t one = std::bit_cast<std::uint32_t>(1.0F);
  for (std::uint32_t s = 0; s < image.count; ++s) {
    for (std::uint32_t i = words[image.offsets + s]; i < words[image.offsets + s + 1]; ++i) {
      const std::uint32_t place = sizes[slot_of_[words[image.features + i]] - 1]++;
      words[image.slot_samples + place] = s;
      words[image.slot_values + place] = words[image.values + i];
    }
    words[image.slot_samples + total + s] = s;
    words[image.slot_values + total + s] = one;
  }
  for (std::uint32_t slot = 0; slot < features; ++slot) {
    slot_of_[words[image.slot_features + slot]] = 0;
  }
}

void BatchImager::add_targets(const Batch& batch, BatchImage& image) {
  const bool softmax = network_.loss == Loss::softmax;
  const float share = 1.0F / static_cast<float>(image.count);
  image.shares = add_section(image, image.samples, kAligned);
  targets_.clear();
  for (std::uint32_t s = 0; s < image.count; ++s) {
    const auto labels = batch.data->labels.row(batch.rows[s]).indices;
    const float own = softmax && labels.empty() ? 0.0F : share;
    image.words[image.shares + s] = std::bit_cast<std::uint32_t>(own);
    const float weight = softmax ? share / static_cast<float>(labels.size()) : share;
    for (const std::uint32_t label : labels) targets_.push_back({label, s, weight});
  }
  std::sort(targets_.begin(), targets_.end(), [](const Target& a, const Target& b) {
    return a.label != b.label ? a.label < b.label : a.sample < b.sample;
  });
  image.targets = static_cast<std::uint32_t>(targets_.size());
  image.target_labels = add_section(image, image.targets);
  image.target_samples = add_section(image, image.targets);
  image.target_weights = add_section(image, image.targets);
  for (std::uint32_t i = 0; i < image.targets; ++i) {
    image.words[image.target_labels + i] = targets_[i].label;
    image.words[image.target_samples + i] = targets_[i].sample;
    image.words[image.target_weights + i] = std::bit_cast<std::uint32_t>(targets_[i].weight);
  }
}

}  // namespace evener
