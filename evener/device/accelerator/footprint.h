// How a replica uses a device's memory: the model, what a batch needs for each of its rows, and
// logits that are kept from one walk over the labels to the next, as far as there is room.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "evener/data/dataset.h"
#include "evener/nn/network.h"
#include "evener/nn/training.h"

namespace evener {

/// What a replica may use of a device.
struct MemoryLimits {
  std::string device;       // its name, for errors
  std::size_t bytes = 0;    // in all
  std::size_t at_once = 0;  // in one piece
  std::size_t chunk = 0;    // bytes of the logits that are best worked on together
  std::size_t scratch = 0;  // bytes that it needs whatever the batch
};

class Footprint {
 public:
  /// DeviceError if the model with its optimizer state does not fit.
  Footprint(const MemoryLimits& limits, const Network& network, const Training& training);

  std::size_t most_rows() const;
  /// Whether so much more fits beside the model and any batch.
  bool has_room_for(std::size_t more) const;

  /// Calls f(piece) for pieces of a batch to predict, of any size, that fit.
  template <class F>
  void in_pieces(const Batch& batch, F f) const {
    constexpr std::size_t kTogether = 256;
    const std::size_t most = most_rows();
    const std::size_t size = most == 0 ? kTogether : std::min(most, kTogether);
    for (std::size_t at = 0; at < batch.rows.size(); at += size) {
      f(Batch{batch.data, batch.rows.subspan(at, std::min(size, batch.rows.size() - at))});
    }
  }

  /// Labels whose logits are worked on together, for batches of up to `samples` rows.
  std::size_t chunk_labels(std::size_t samples) const;
  /// How many of those chunks are kept.
  std::size_t kept_chunks(std::size_t samples) const;

 private:
  std::size_t bytes(std::size_t samples) const;
  std::size_t most_kept() const;  // bytes

  std::size_t memory_;
  std::size_t chunk_bytes_;
  std::size_t labels_;
  bool keeps_;  // softmax comes back to its logits
  std::size_t model_bytes_;
  std::size_t scratch_bytes_;
  std::size_t row_floats_;  // of a batch's row in all layers
};

}  // namespace evener
