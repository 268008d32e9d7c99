// Loops over independent items on a team of threads, and what they leave joined to one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "evener/core/team.h"

namespace evener {

/// Called between chunks of a long loop, on the calling thread; true ends the loop early.
using Stop = std::function<bool()>;

/// Calls work(begin, end, member) for chunks of [0, total). Members take chunks as they become
/// free, so an item's result must not depend on the member. Returns false if `stop` ended it.
template <class Work>
bool for_chunks(Team& team, std::size_t total, std::size_t chunk, const Stop& stop, Work work) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stopped{false};
  team.run([&](int member) {
    for (;;) {
      const std::size_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
      if (begin >= total || stopped.load(std::memory_order_relaxed)) return;
      if (member == 0 && stop && stop()) {
        stopped = true;
        return;
      }
      work(begin, std::min(total, begin + chunk), member);
    }
  });
  return !stopped;
}

/// A part has rows: row r has the entries offsets[r] .. offsets[r + 1]. The offsets of the rows of
/// all parts, one after the other.
template <class Part>
std::vector<std::uint64_t> joined_offsets(const std::vector<Part>& parts) {
  std::vector<std::uint64_t> offsets{0};
  std::size_t rows = 1;
  for (const Part& part : parts) rows += part.offsets.size() - 1;
  offsets.reserve(rows);
  for (const Part& part : parts) {
    const std::uint64_t before = offsets.back();
    for (std::size_t row = 1; row < part.offsets.size(); ++row) {
      offsets.push_back(before + part.offsets[row]);
    }
  }
  return offsets;
}

/// One of their arrays of entries, which is emptied.
template <class Part, class Value>
std::vector<Value> joined_values(std::vector<Part>& parts, std::vector<Value> Part::*values,
                                 Team& team) {
  std::vector<std::size_t> at{0};
  for (const Part& part : parts) at.push_back(at.back() + (part.*values).size());
  std::vector<Value> all(at.back());
  constexpr std::size_t kChunk = 16;
  for_chunks(team, parts.size(), kChunk, {}, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::vector<Value> part = std::exchange(parts[i].*values, {});
      std::copy(part.begin(), part.end(), all.begin() + static_cast<std::ptrdiff_t>(at[i]));
    }
  });
  return all;
}

/// A stable counting sort on a team. `keys_of(item)` is a span of the item's keys, below
/// `key_count`. Returns where the entries of each key begin, and calls place(at, item, i) once for
/// the i-th key of each item. Needs 8 bytes for each key and thread.
template <class KeysOf, class Place>
std::vector<std::uint64_t> sort_by_key(std::size_t items, std::size_t key_count, Team& team,
                                       KeysOf keys_of,
                                       const std::function<void(std::uint64_t)>& allocate,
                                       Place place) {
  std::vector<std::vector<std::uint64_t>> next(static_cast<std::size_t>(team.size()));
  team.run([&](int member) {
    auto& own = next[static_cast<std::size_t>(member)];
    own.assign(key_count, 0);
    const Range range = share_of(items, team.size(), member);
    for (std::size_t item = range.begin; item < range.end; ++item) {
      for (const std::uint32_t key : keys_of(item)) ++own[key];
    }
  });
  std::vector<std::uint64_t> offsets(key_count + 1, 0);
  std::uint64_t at = 0;
  for (std::size_t key = 0; key < key_count; ++key) {
    offsets[key] = at;
    for (auto& own : next) at += std::exchange(own[key], at);
  }
  offsets[key_count] = at;
  allocate(at);
  team.run([&](int member) {
    auto& own = next[static_cast<std::size_t>(member)];
    const Range range = share_of(items, team.size(), member);
    for (std::size_t item = range.begin; item < range.end; ++item) {
      const auto keys = keys_of(item);
      for (std::size_t i = 0; i < keys.size(); ++i) place(own[keys[i]]++, item, i);
    }
  });
  return offsets;
}

}  // namespace evener
