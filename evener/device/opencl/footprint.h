// How a replica uses a device's memory: the model, what a batch needs for each of its rows, and
// logits that are kept from one walk over the labels to the next, as far as there is room.
#pragma once

#include <cstddef>

#include "evener/device/opencl/context.h"
#include "evener/nn/network.h"
#include "evener/nn/training.h"

namespace evener::opencl {

class Footprint {
 public:
  /// DeviceError where the model with its optimizer state does not fit.
  Footprint(const Context& context, const Network& network, const Training& training);

  std::size_t most_rows() const;

  /// Labels whose logits are worked on together, for batches of up to `samples` rows.
  std::size_t chunk_labels(std::size_t samples) const;
  /// How many of those chunks are kept.
  std::size_t kept_chunks(std::size_t samples) const;

 private:
  std::size_t bytes(std::size_t samples) const;

  Kind kind_;
  std::size_t memory_;
  std::size_t labels_;
  bool keeps_;  // softmax comes back to its logits
  std::size_t model_bytes_;
  std::size_t row_floats_;  // of a batch's row in all layers
};

}  // namespace evener::opencl
