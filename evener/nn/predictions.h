// The best labels of each row, as evaluation produces them: never the rows x labels matrix.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace evener {

struct Predictions {
  std::uint32_t k = 0;                // labels kept a row; at most the number of labels
  std::vector<std::uint32_t> labels;  // rows x k, best first; equal scores: lower label first
  std::vector<float> scores;          // rows x k: probabilities (softmax, sigmoid) or raw (squared)
  std::vector<float> losses;          // per row, as the training loss defines it

  std::size_t rows() const { return losses.size(); }
  std::span<const std::uint32_t> row_labels(std::size_t row) const {
    return std::span(labels).subspan(row * k, k);
  }
  std::span<const float> row_scores(std::size_t row) const {
    return std::span(scores).subspan(row * k, k);
  }
};

}  // namespace evener
