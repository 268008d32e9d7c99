// What a node that joins is told: by a coordinator, or by peers without one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace evener {

/// What the data must be for row numbers to mean the same everywhere.
struct DataFingerprint {
  std::uint64_t rows = 0, features = 0, labels = 0, checksum = 0;

  bool operator==(const DataFingerprint&) const = default;
};

struct Job {
  std::map<std::string, std::string> options;  // of the run, resolved
  DataFingerprint data;
  std::size_t batch = 0;  // rows that a node gets for a step
};

}  // namespace evener
