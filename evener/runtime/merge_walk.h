// The parts of a parameter vector that a merge goes through, over the threads of a team.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

#include "evener/core/team.h"
#include "evener/runtime/row_set.h"
#include "evener/runtime/shard.h"

namespace evener {

/// Calls f(offset, floats) for stretches that together hold all dense segments and, of a sparse
/// input layer, the rows given (null: all of them). Stretches are short, so that all vectors of a
/// merge stay in the cache.
class MergeWalk {
 public:
  /// Of a shard that is a vector of its own.
  MergeWalk(const Shard& shard, int threads)
      : size_(shard.size()), row_(shard.width), dense_begin_(shard.dense), team_(threads) {}

  void walk(const std::vector<std::uint32_t>* rows,
            const std::function<void(std::size_t, std::size_t)>& f) {
    constexpr std::size_t kStretch = 4096;
    const std::size_t begin = rows != nullptr ? dense_begin_ : 0;
    team_.run([&](int member) {
      const Range part = share_of(size_ - begin, team_.size(), member, kStretch);
      for (std::size_t at = part.begin; at < part.end; at += kStretch) {
        f(begin + at, std::min(kStretch, part.end - at));
      }
      if (rows == nullptr) return;
      const Range own = share_of(rows->size(), team_.size(), member);
      for (std::size_t i = own.begin; i < own.end; ++i) f((*rows)[i] * row_, row_);
    });
  }

 private:
  std::size_t size_;
  std::size_t row_;          // floats a row of a sparse input layer
  std::size_t dense_begin_;  // floats of the sparse part, which comes first
  Team team_;
};

}  // namespace evener
