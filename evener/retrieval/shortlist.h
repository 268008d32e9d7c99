// What retrieval hands to training and prediction: for each row, its candidate labels with a fixed
// margin (log-odds) each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace evener {

struct Shortlist {
  std::vector<std::uint64_t> offsets{0};  // row r has the pairs offsets[r] .. offsets[r + 1]
  std::vector<std::uint32_t> labels;      // ascending within a row
  std::vector<float> margins;
  std::vector<std::uint8_t> positive;  // 1: the row has the label; empty where labels are unknown

  std::size_t rows() const { return offsets.size() - 1; }
  std::size_t pairs() const { return labels.size(); }
  std::span<const std::uint32_t> labels_of(std::size_t row) const {
    return std::span(labels).subspan(offsets[row], offsets[row + 1] - offsets[row]);
  }
};

}  // namespace evener
