// A small network that turns what retrieval knows about a (row, label) pair into the log-odds that
// the row has the label.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "evener/retrieval/candidates.h"
#include "evener/retrieval/parallel.h"

namespace evener {

inline constexpr std::size_t kOffsetHidden = 16;

/// o = skip . z + out . relu(hidden z + hidden_bias) + bias with z = (features - mean) * scale.
struct OffsetNetwork {
  PairFeatures mean{}, scale{};
  std::array<float, kPairFeatures * kOffsetHidden> hidden{};  // [feature][unit]
  std::array<float, kOffsetHidden> hidden_bias{}, out{};
  PairFeatures skip{};
  float bias = 0;
};

struct OffsetOptions {
  std::uint32_t epochs = 3;
  std::uint32_t batch = 32;
  float learning_rate = 0.01F;  // Adam, decaying to 0
  std::uint64_t seed = 1;
};

/// By the logistic loss. `positive` has an entry for each pair. Nothing if `stop` ended it.
std::optional<OffsetNetwork> train_offset(std::span<const PairFeatures> pairs,
                                          std::span<const std::uint8_t> positive,
                                          const OffsetOptions& options, const Stop& stop);

float offset_of(const OffsetNetwork& network, const PairFeatures& features);

}  // namespace evener
