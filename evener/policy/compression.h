// Compression of pushes and exchanges: fewer bits per number, or fewer numbers. This file has the
// options and the size in bytes; runtime/compression.h has the arithmetic.
#pragma once

#include <cstddef>
#include <vector>

#include "evener/policy/strategy_options.h"

namespace evener {

struct Compression {
  enum class Kind { none, fp16, top_k };
  Kind kind = Kind::none;
  double share = 0.01;  // top_k: of the numbers, at least one

  bool active() const { return kind != Kind::none; }
  /// How many of so many numbers top_k picks.
  std::size_t picked(std::size_t numbers) const;
  /// Bytes that so many numbers take; those that top_k picks carry their positions.
  std::size_t bytes(std::size_t numbers) const;
};

/// The options `compress` and `top-k`, each with the help of the strategy that has them.
std::vector<StrategyOption> compression_options(std::string compress_help, std::string top_k_help);
Compression compression_from(const StrategyValues& values);

}  // namespace evener
