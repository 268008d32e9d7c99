// Limits the lines about processes that connect: a stranger decides how many there are.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "evener/core/time.h"

namespace evener {

class LineLimit {
 public:
  /// Whether to report this line: each at most once a second, and at most ten different ones.
  bool allows(const std::string& line, Seconds now) {
    constexpr Seconds kEvery = 1;
    constexpr std::size_t kMost = 10;
    std::erase_if(reported_, [&](const auto& one) { return now - one.second >= kEvery; });
    return reported_.size() < kMost && reported_.emplace(line, now).second;
  }

 private:
  std::map<std::string, Seconds> reported_;  // when, in the last second
};

}  // namespace evener
