// A part of a parameter vector: some of the sparse rows (nn/network.h), and a stretch of the
// numbers after them. A shard server holds one; a single server, or the coordinator, holds all of
// the vector.
#pragma once

#include <cstddef>
#include <vector>

#include "evener/device/device.h"

namespace evener {

struct Shard {
  std::size_t row = 0, rows = 0, width = 0;  // the first row, how many, and floats of one
  std::size_t dense = 0, floats = 0;         // where the stretch begins, and its length

  std::size_t size() const { return rows * width + floats; }
  /// The same shard as a vector of its own.
  Shard alone() const { return {0, rows, width, rows * width, floats}; }
};

/// The vector cut into so many parts of nearly equal size. Rows and the rest are cut separately,
/// because only changed rows are sent.
std::vector<Shard> shards_of(const Network& network, std::size_t count);
/// All of it.
Shard whole_shard(const Network& network);

}  // namespace evener
