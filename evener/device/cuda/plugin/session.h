// The shared state of a replica's parts: the card, the model's vectors, and the current batch.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "evener/device/accelerator/batch_slots.h"
#include "evener/device/accelerator/footprint.h"
#include "evener/device/cuda/plugin/card.h"
#include "evener/device/cuda/plugin/kernels.h"
#include "evener/device/cuda/plugin/memory.h"

namespace evener::cuda {

/// A layer's outputs for the batch, and the loss's gradient at them: one row per sample.
struct Activity {
  std::size_t units = 0, width = 0;
  CardArray<float> values, error;
};

/// A batch on the card, or being copied to it.
struct CardBatch {
  HostArray<std::uint32_t> staged;
  CardArray<std::uint32_t> words;
  Event arrived;
};

/// The card's limits for a replica; the scratch memory is for pieces of dense gradients.
MemoryLimits limits_of(const OpenCard& card, const Network& network);

class Session {
 public:
  Session(std::shared_ptr<OpenCard> card, const Network& network, const Training& training);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  /// Waits for copies that use this object's memory.
  ~Session();
  /// Waits for all work in progress and ignores its errors: it uses memory of this object and of
  /// callers.
  void drain();

  // As in accelerator::BatchSlots.
  void begin(const Batch& batch, const Step& step, bool grouped) {
    slots_.begin(*this, batch, step, grouped);
  }
  void prepare(const Batch& batch, const Step& step) { slots_.prepare(*this, batch, step); }
  const BatchImage& image() const { return slots_.image(); }
  // The Link of BatchSlots.
  static void await_copy(const CardBatch& batch) { batch.arrived.wait(); }
  void start_copy(CardBatch& batch, const std::vector<std::uint32_t>& words);
  void hold_for(const CardBatch& batch) const { batch.arrived.hold(stream); }

  /// Does nothing: work on a stream starts by itself.
  static void flush() {}
  /// Waits until all work on the stream has ended.
  void wait() const { stream.wait(); }

  /// A section of the image on the card.
  const std::uint32_t* words(std::uint32_t section) const {
    return slots_.copy().words.data() + section;
  }
  const float* floats(std::uint32_t section) const {
    return reinterpret_cast<const float*>(words(section));
  }
  SparseRows sparse_rows() const {
    return {words(image().offsets), words(image().features), floats(image().values)};
  }

  float* parameters() const { return vectors.front().data(); }
  /// For state that the optimizer does not keep, passes memory that is not accessed.
  Vectors all_vectors() const;

  Dropout dropout(std::size_t layer, const Step& step) const {
    return dropout_for(accelerator::dropout_mask(training, layer, step));
  }

  std::shared_ptr<OpenCard> card;  // selected before the members below are constructed
  Network network;
  Training training;
  Layout layout;
  MemoryLimits limits;
  Footprint footprint;
  Stream stream;  // for kernels
  Libraries libraries;
  std::size_t capacity = 0;  // samples that fit into memory
  std::vector<CardArray<float>> vectors;

 private:
  Stream copies_;
  accelerator::BatchSlots<CardBatch> slots_;
};

}  // namespace evener::cuda
