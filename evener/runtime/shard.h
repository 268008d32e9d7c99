// A part of a parameter vector: some rows of a sparse input layer, and a stretch of what follows
// that layer. A server keeps one; where there is one server, it is all of the vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "evener/device/device.h"

namespace evener {

struct Shard {
  std::size_t row = 0, rows = 0, width = 0;  // the first row, how many, and floats of one
  std::size_t dense = 0, floats = 0;         // where the stretch begins, and its length

  std::size_t size() const { return rows * width + floats; }
  /// The same as a vector of its own.
  Shard alone() const { return {0, rows, width, rows * width, floats}; }

  /// Calls f(offset, floats) for all of it, or for these rows, counted from the first, and the
  /// stretch.
  template <class F>
  void for_places(std::span<const std::uint32_t> chosen, bool whole, F f) const {
    if (whole && rows > 0) f(row * width, rows * width);
    if (!whole) {
      for (const std::uint32_t one : chosen) f((row + one) * width, width);
    }
    if (floats > 0) f(dense, floats);
  }
};

/// The vector cut into so many parts, as equal as can be: of rows as well as of the rest, because
/// of rows only those that changed travel.
std::vector<Shard> shards_of(const Network& network, std::size_t count);
/// All of it.
Shard whole_shard(const Network& network);

}  // namespace evener
