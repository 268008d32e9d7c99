#include "evener/device/cpu/top_labels.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace evener::cpu {

void TopLabels::begin(std::uint32_t k, const Samples& samples) {
  k_ = k;
  if (threshold_.size() < samples.padded) threshold_ = FloatBuffer(samples.padded);
  // No padding sample exceeds infinity.
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::fill_n(threshold_.data(), samples.padded, kInfinity);
  std::fill_n(threshold_.data(), samples.count, -kInfinity);
  best_.resize(samples.count);
  for (auto& best : best_) best.clear();
}

void TopLabels::offer(const Columns& logits, std::size_t first, std::size_t units,
                      const Samples& samples) {
  const std::size_t panel = kernels().panel;
  for (std::size_t p = 0; p < samples.panels; ++p) {
    const float* column = logits.data + p * logits.stride;
    for (std::size_t unit = 0; unit < units; ++unit, column += panel) {
      auto bits = kernels().above(column, threshold_.data() + p * panel);
      for (; bits != 0; bits &= bits - 1) {
        const auto lane = static_cast<std::size_t>(std::countr_zero(bits));
        insert(p * panel + lane, {static_cast<std::uint32_t>(first + unit), column[lane]});
      }
    }
  }
}

void TopLabels::insert(std::size_t sample, Scored candidate) {
  auto& best = best_[sample];
  if (best.size() == k_) best.pop_back();
  const auto place = std::upper_bound(best.begin(), best.end(), candidate.score,
                                      [](float logit, const Scored& s) { return logit > s.score; });
  best.insert(place, candidate);
  if (best.size() == k_) threshold_[sample] = best.back().score;
}

}  // namespace evener::cpu
