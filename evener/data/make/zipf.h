// Draws ranks by Zipf's law.
#pragma once

#include <cstdint>
#include <vector>

namespace evener {

/// Rank r of 0..n-1 with probability proportional to (r + 1)^-exponent, one table look-up a draw
/// (Walker's alias method).
class Zipf {
 public:
  Zipf(std::uint32_t n, double exponent);

  /// `random`: 64 uniform bits.
  std::uint32_t rank(std::uint64_t random) const {
    const auto slot = static_cast<std::uint32_t>((random >> 32) * slots_.size() >> 32);
    return static_cast<std::uint32_t>(random) <= slots_[slot].threshold ? slot : slots_[slot].alias;
  }

 private:
  struct Slot {
    std::uint32_t threshold;  // in units of 2^-32: probability of the slot's own rank
    std::uint32_t alias;      // otherwise this rank
  };
  std::vector<Slot> slots_;
};

}  // namespace evener
