// Runs a merge over the parts of a parameter vector that have changed, on the threads of a team.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

#include "evener/core/team.h"
#include "evener/runtime/row_set.h"
#include "evener/runtime/shard.h"

namespace evener {

/// Calls f(offset, floats) for blocks that together are the given sparse rows (null: all rows) and
/// everything after the sparse rows. Blocks are short, so that all vectors of a merge stay in the
/// cache.
class MergeWalk {
 public:
  /// For a shard that is a vector of its own.
  MergeWalk(const Shard& shard, int threads)
      : size_(shard.size()), row_(shard.width), dense_begin_(shard.dense), team_(threads) {}

  void walk(const std::vector<std::uint32_t>* rows,
            const std::function<void(std::size_t, std::size_t)>& f) {
    constexpr std::size_t kBlock = 4096;
    const std::size_t begin = rows != nullptr ? dense_begin_ : 0;
    team_.run([&](int member) {
      const Range part = share_of(size_ - begin, team_.size(), member, kBlock);
      for (std::size_t at = part.begin; at < part.end; at += kBlock) {
        f(begin + at, std::min(kBlock, part.end - at));
      }
      if (rows == nullptr) return;
      const Range own = share_of(rows->size(), team_.size(), member);
      for (std::size_t i = own.begin; i < own.end; ++i) f((*rows)[i] * row_, row_);
    });
  }

 private:
  std::size_t size_;
  std::size_t row_;          // floats per sparse row
  std::size_t dense_begin_;  // the dense part follows the sparse rows
  Team team_;
};

}  // namespace evener
