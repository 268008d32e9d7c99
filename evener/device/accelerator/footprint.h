// A replica's use of device memory: the model, the memory per row of a batch, and logits that are
// kept between the two passes over the labels, as far as they fit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "evener/data/dataset.h"
#include "evener/nn/network.h"
#include "evener/nn/training.h"

namespace evener {

/// The limits of a device for one replica.
struct MemoryLimits {
  std::string device;       // its name, for errors
  std::size_t bytes = 0;    // in total
  std::size_t at_once = 0;  // in one allocation
  std::size_t chunk = 0;    // best size of a chunk of logits, in bytes
  std::size_t scratch = 0;  // bytes needed for any batch
};

class Footprint {
 public:
  /// DeviceError if the model with its optimizer state does not fit.
  Footprint(const MemoryLimits& limits, const Network& network, const Training& training);

  std::size_t most_rows() const;
  /// Whether this many more bytes fit next to the model and any batch.
  bool has_room_for(std::size_t more) const;

  /// Splits a batch for prediction, of any size, and calls f(piece) for pieces that fit.
  template <class F>
  void in_pieces(const Batch& batch, F f) const {
    constexpr std::size_t kTogether = 256;
    const std::size_t most = most_rows();
    const std::size_t size = most == 0 ? kTogether : std::min(most, kTogether);
    for (std::size_t at = 0; at < batch.rows.size(); at += size) {
      f(Batch{batch.data, batch.rows.subspan(at, std::min(size, batch.rows.size() - at))});
    }
  }

  /// Labels per chunk, for batches of up to `samples` rows.
  std::size_t chunk_labels(std::size_t samples) const;
  /// The number of chunks that are kept.
  std::size_t kept_chunks(std::size_t samples) const;

 private:
  std::size_t bytes(std::size_t samples) const;
  std::size_t most_kept() const;  // bytes

  std::size_t memory_;
  std::size_t chunk_bytes_;
  std::size_t labels_;
  bool keeps_;  // softmax reads its logits twice
  std::size_t model_bytes_;
  std::size_t scratch_bytes_;
  std::size_t row_floats_;  // per row of a batch, in all layers
};

}  // namespace evener
