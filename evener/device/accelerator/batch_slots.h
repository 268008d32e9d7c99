// The current batch of an accelerator, and the next one, which is prepared and copied at the same
// time.
#pragma once

#include <array>
#include <cstdint>

#include "evener/device/accelerator/batch_image.h"

namespace evener::accelerator {

/// Layer 0 is the input; step number 0 means prediction, which drops nothing.
inline DropoutMask dropout_mask(const Training& training, std::size_t layer, const Step& step) {
  const float rate = layer == 0 ? training.input_dropout : training.dropout;
  return {step.number == 0 ? 0.0F : rate, training.seed, step.number,
          static_cast<std::uint32_t>(layer)};
}

/// Two slots. Copy is a batch in device memory; a Link copies to it:
///   link.await_copy(copy)           waits for an earlier copy
///   link.start_copy(copy, words)    starts a copy; `words` must not change until it has ended
///   link.hold_for(copy)             later work of the device waits for it
template <class Copy>
class BatchSlots {
 public:
  /// Samples are padded to multiples of `panel`.
  BatchSlots(const Network& network, const Training& training, std::size_t panel)
      : training_(training), imager_(network, static_cast<std::uint32_t>(panel)) {}

  /// Makes this the current batch, unless `prepare` has prepared it. `grouped`: for training.
  template <class Link>
  void begin(Link& link, const Batch& batch, const Step& step, bool grouped) {
    if (slots_[1 - current_].key.is(batch, step, grouped)) {
      current_ = 1 - current_;
    } else {
      fill(link, slots_[current_], batch, step, grouped);
    }
    Slot& slot = slots_[current_];
    slot.key.step = 0;  // used: the same step again would be another batch
    link.hold_for(slot.copy);
  }

  /// Prepares a batch for training while the current one is in use.
  template <class Link>
  void prepare(Link& link, const Batch& batch, const Step& step) {
    fill(link, slots_[1 - current_], batch, step, true);
  }

  const BatchImage& image() const { return slots_[current_].image; }
  const Copy& copy() const { return slots_[current_].copy; }

 private:
  struct Slot {
    BatchImage image;
    BatchKey key;
    Copy copy;
  };

  template <class Link>
  void fill(Link& link, Slot& slot, const Batch& batch, const Step& step, bool grouped) {
    slot.key.step = 0;  // until the whole batch is being copied
    // A prepared but unused batch may still be in a copy from the same memory.
    link.await_copy(slot.copy);
    imager_.make(batch, dropout_mask(training_, 0, step), grouped, slot.image);
    link.start_copy(slot.copy, slot.image.words);
    slot.key.set(batch, step, grouped);
  }

  Training training_;
  BatchImager imager_;
  std::array<Slot, 2> slots_;
  std::size_t current_ = 0;
};

}  // namespace evener::accelerator
