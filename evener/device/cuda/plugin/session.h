// What the parts of a replica share: the card, the model's vectors, the batch at hand and where
// things lie in it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "evener/device/batch_image.h"
#include "evener/device/cuda/plugin/card.h"
#include "evener/device/cuda/plugin/kernels.h"
#include "evener/device/cuda/plugin/memory.h"
#include "evener/device/footprint.h"

namespace evener::cuda {

/// A layer's outputs for the batch, and the loss's gradient at them: a row a sample.
struct Activity {
  std::size_t units = 0, width = 0;
  CardArray<float> values, error;
};

/// A batch on its way to the card or there. There are two, so that the next one can be made ready
/// and copied while the card works on this one.
struct BatchSlot {
  BatchImage image;
  HostArray<std::uint32_t> staged;
  CardArray<std::uint32_t> words;
  BatchKey key;
  Event arrived;
};

/// What a replica may use of the card; the scratch is the one for pieces of dense gradients.
MemoryLimits limits_of(const OpenCard& card, const Network& network);

class Session {
 public:
  Session(std::shared_ptr<OpenCard> card, const Network& network, const Training& training);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  /// Copies that use our memory end before it does.
  ~Session();
  /// Waits for all that is under way, whatever became of it: it uses memory of ours and of callers.
  void drain();

  /// Makes this the batch at hand, unless `prepare` has it ready. `grouped`: it will be trained on.
  void begin(const Batch& batch, const Step& step, bool grouped);
  /// Makes a batch ready beside the one at hand.
  void prepare(const Batch& batch, const Step& step);

  const BatchImage& image() const { return slots_[current_].image; }
  /// A section of the image on the card.
  const std::uint32_t* words(std::uint32_t section) const {
    return slots_[current_].words.data() + section;
  }
  const float* floats(std::uint32_t section) const {
    return reinterpret_cast<const float*>(words(section));
  }
  SparseRows sparse_rows() const {
    return {words(image().offsets), words(image().features), floats(image().values)};
  }

  float* parameters() const { return vectors.front().data(); }
  /// State that the optimizer does not keep is given as memory that is not touched.
  Vectors all_vectors() const;

  /// Layer 0 is the input; step number 0 means prediction, which drops nothing.
  DropoutMask mask(std::size_t layer, const Step& step) const;

  std::shared_ptr<OpenCard> card;  // chosen before anything below is made
  Network network;
  Training training;
  Layout layout;
  MemoryLimits limits;
  Footprint footprint;
  Stream stream;  // the kernels'
  Libraries libraries;
  std::size_t capacity = 0;  // samples that there is room for
  std::vector<CardArray<float>> vectors;

 private:
  void fill(BatchSlot& slot, const Batch& batch, const Step& step, bool grouped);

  BatchImager imager_;
  Stream copies_;
  std::array<BatchSlot, 2> slots_;
  std::size_t current_ = 0;
};

}  // namespace evener::cuda
