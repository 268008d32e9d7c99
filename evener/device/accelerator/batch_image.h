// A batch as one block of 32-bit words, which is copied to an accelerator in one piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "evener/data/dataset.h"
#include "evener/nn/network.h"
#include "evener/nn/training.h"

namespace evener {

/// Sections by the offset of their first word. Floats are stored by their bits.
struct BatchImage {
  std::vector<std::uint32_t> words;
  std::uint32_t count = 0;    // samples
  std::uint32_t samples = 0;  // padded to whole panels

  // The rows: sample s has features and values [offsets[s], offsets[s + 1]).
  std::uint32_t offsets = 0, features = 0, values = 0;

  // The same grouped by feature, for a sparse input layer's update: slot i is feature
  // slot_features[i], with occurrences [slot_begins[i], slot_begins[i + 1]). The last slot is the
  // bias, whose value is 1 in every sample.
  std::uint32_t slots = 0;
  std::uint32_t slot_features = 0, slot_begins = 0, slot_samples = 0, slot_values = 0;

  // The labels, ascending; weights are divided by the number of samples, and subtracted from the
  // gradient at a target's logit.
  std::uint32_t targets = 0;
  std::uint32_t target_labels = 0, target_samples = 0, target_weights = 0;

  // Per padded sample: its share of the gradient, 1 / count, and 0 after the last sample, and for
  // samples without labels under softmax.
  std::uint32_t shares = 0;

  std::span<const std::uint32_t> section(std::uint32_t offset, std::size_t size) const {
    return std::span(words).subspan(offset, size);
  }
  /// The first target whose label is not below `label`.
  std::uint32_t target_at(std::uint32_t label) const;
};

/// Identifies the batch of an image: these rows of the data, in this step. A prepared batch is used
/// only if it is the next one requested.
struct BatchKey {
  std::vector<std::uint32_t> rows;
  std::uint64_t step = 0;  // 0: no batch
  bool grouped = false;

  void set(const Batch& batch, const Step& at, bool with_groups);
  bool is(const Batch& batch, const Step& at, bool with_groups) const;
};

/// Makes images, and reuses memory between them.
class BatchImager {
 public:
  /// Samples are padded to multiples of `panel`.
  BatchImager(const Network& network, std::uint32_t panel);

  /// `mask` drops features; `grouped`: adds the sections that an update needs.
  void make(const Batch& batch, const DropoutMask& mask, bool grouped, BatchImage& image);

 private:
  void add_rows(const Batch& batch, const DropoutMask& mask, BatchImage& image);
  void add_slots(BatchImage& image);
  void add_targets(const Batch& batch, BatchImage& image);

  Network network_;
  std::uint32_t panel_;
  std::vector<std::uint32_t> slot_of_;  // per feature: 1 + its slot in the current image, or 0
  struct Target {
    std::uint32_t label, sample;
    float weight;
  };
  std::vector<Target> targets_;
};

}  // namespace evener
