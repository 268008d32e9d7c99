// The sparse linear part: weights of (feature, label) pairs, trained on candidates with their
// margins fixed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "evener/data/dataset.h"
#include "evener/retrieval/parallel.h"
#include "evener/retrieval/shortlist.h"

namespace evener {

/// By label: the features that have a weight, ascending, and the weights.
struct WideWeights {
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint32_t> features;
  std::vector<float> values;

  std::size_t labels() const { return offsets.size() - 1; }
};

struct WideOptions {
  std::uint32_t epochs = 5;
  float learning_rate = 3;
  float rows_scale = 20;  // a label with n rows learns at learning_rate (n / rows_scale)^power
  float rows_power = 0.25F;
  float least_gradient = 0.01F;  // in most epochs, negatives below it are skipped
  float least_weight = 0.1F;     // smaller weights are dropped at the end
  std::uint64_t seed = 1;
};

/// One label at a time: a few epochs of AdaGrad with one scale for the whole label. A label has
/// weights for the features of its positive rows. False if `stop` ended it.
bool train_wide(const Dataset& data, const Shortlist& shortlist, const WideOptions& options,
                Team& team, const Stop& stop, WideWeights& out);

/// out[i] = w_l . x for the row's candidate labels. `dense` has the row's features; the caller
/// fills and clears it.
void wide_scores(const WideWeights& weights, std::span<const std::uint32_t> labels,
                 const float* dense, float* out);

}  // namespace evener
