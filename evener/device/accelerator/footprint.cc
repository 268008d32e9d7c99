#include "evener/device/accelerator/footprint.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "evener/device/device.h"

namespace evener {

namespace {

constexpr std::size_t kFewestLabels = 64;
// As in the CPU device: kept logits may take 8 % of the model, or this much for a small model.
constexpr double kKeepShare = 0.08;
constexpr std::size_t kKeepBytes = std::size_t{64} << 20;
// The image of a batch and statistics, per row; the image grows with the rows of the data.
constexpr std::size_t kOtherFloats = 2048;
constexpr std::size_t kMostSamples = 1 << 16;

// Megabytes. Needed memory is rounded up and available memory down, so that they never look equal.
double needed(std::size_t bytes) {
  return std::ceil(static_cast<double>(bytes) / 1e5) / 10;
}
double given(std::size_t bytes) {
  return std::floor(static_cast<double>(bytes) / 1e5) / 10;
}

}  // namespace

Footprint::Footprint(const MemoryLimits& limits, const Network& network, const Training& training)
    : memory_(limits.bytes),
      chunk_bytes_(limits.chunk),
      labels_(network.labels),
      keeps_(network.loss == Loss::softmax),
      model_bytes_(layout_of(network).size * sizeof(float) *
                   (1 + static_cast<std::size_t>(state_vectors(training.optimizer)))),
      scratch_bytes_(limits.scratch),
      row_floats_(kOtherFloats) {
  for (const std::uint32_t units : network.hidden) row_floats_ += 3 * padded(units);
  if (network.sparse_input()) {
    row_floats_ += padded(network.hidden.front());
  } else {
    row_floats_ += 2 * padded(network.features);
  }
  const std::size_t vector = layout_of(network).size * sizeof(float);
  if (bytes(1) > memory_) {
    throw DeviceError(fmt::format(
        "{}: the model with its optimizer state needs {:.1f} MB and the device has {:.1f} MB",
        limits.device, needed(bytes(1)), given(memory_)));
  }
  if (vector > limits.at_once) {
    throw DeviceError(fmt::format(
        "{}: the model needs {:.1f} MB in one piece and the device gives at most {:.1f} MB",
        limits.device, needed(vector), given(limits.at_once)));
  }
}

std::size_t Footprint::chunk_labels(std::size_t samples) const {
  const std::size_t fit = chunk_bytes_ / (samples * sizeof(float)) / kFewestLabels * kFewestLabels;
  const std::size_t all = (labels_ + kFewestLabels - 1) / kFewestLabels * kFewestLabels;
  return std::clamp(fit, kFewestLabels, std::max(all, kFewestLabels));
}

std::size_t Footprint::bytes(std::size_t samples) const {
  return model_bytes_ + scratch_bytes_ +
         samples * sizeof(float) * (row_floats_ + chunk_labels(samples));
}

std::size_t Footprint::most_kept() const {
  const auto share = static_cast<std::size_t>(kKeepShare * static_cast<double>(model_bytes_));
  return keeps_ ? std::max(share, kKeepBytes) : 0;
}

bool Footprint::has_room_for(std::size_t more) const {
  return bytes(kMostSamples) + most_kept() + more <= memory_;
}

std::size_t Footprint::kept_chunks(std::size_t samples) const {
  const std::size_t used = bytes(samples);
  if (used >= memory_) return 0;
  const std::size_t room = std::min(most_kept(), memory_ - used);
  const std::size_t chunk = chunk_labels(samples);
  const std::size_t chunks = (labels_ + chunk - 1) / chunk;
  return std::min(chunks, room / (chunk * samples * sizeof(float)));
}

std::size_t Footprint::most_rows() const {
  if (bytes(kMostSamples) <= memory_) return 0;
  std::size_t fits = 1, too_many = kMostSamples;
  while (too_many - fits > 1) {
    const std::size_t middle = (fits + too_many) / 2;
    (bytes(middle) <= memory_ ? fits : too_many) = middle;
  }
  return fits;
}

}  // namespace evener
