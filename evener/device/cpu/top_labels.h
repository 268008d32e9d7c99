// The best k labels of each sample so far, updated tile by tile.
#pragma once

#include <cstdint>
#include <vector>

#include "evener/core/best_of.h"
#include "evener/core/buffer.h"
#include "evener/device/cpu/batch_state.h"

namespace evener::cpu {

class TopLabels {
 public:
  void begin(std::uint32_t k, const Samples& samples);
  /// Logits of labels [first, first + units). Tiles must be in order of labels, so that for equal
  /// logits the lower label is kept.
  void offer(const Columns& logits, std::size_t first, std::size_t units, const Samples& samples);
  /// Best first; fewer than k if fewer were offered.
  const std::vector<Scored>& of(std::size_t sample) const { return best_[sample]; }

 private:
  void insert(std::size_t sample, Scored candidate);

  std::uint32_t k_ = 0;
  FloatBuffer threshold_;  // per sample: the logit to beat
  std::vector<std::vector<Scored>> best_;
};

}  // namespace evener::cpu
