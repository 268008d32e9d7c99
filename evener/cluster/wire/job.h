// The training job that a joining process receives from a coordinator or from gossip peers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace evener {

/// Row numbers mean the same where the fingerprint of the data is the same.
struct DataFingerprint {
  std::uint64_t rows = 0, features = 0, labels = 0, checksum = 0;

  bool operator==(const DataFingerprint&) const = default;
};

struct Job {
  std::map<std::string, std::string> options;  // of the run, resolved
  DataFingerprint data;
  std::size_t batch = 0;  // rows that a worker gets for a step
};

}  // namespace evener
