// The work of one worker in a session, for reports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evener/runtime/timeline.h"

namespace evener {

struct WorkerResult {
  std::string name;
  std::uint64_t tasks = 0, updates = 0, rows = 0;
  std::size_t batch = 0;             // rows of its last step
  double compute = 0, transfer = 0;  // shares of the time; the rest is waiting
  double staleness = 0;        // mean number of updates by others between a task's start and end
  std::uint64_t bytes = 0;     // sent and received
  std::uint64_t rejected = 0;  // refused pushes, declined offers
  bool lost = false;           // failed or left
  StalenessCounts staleness_counts{};
  std::uint64_t exchanges = 0;  // with gossiping peers
  bool joined = true;           // false: an empty worker slot
};

/// `seconds` of training, for the shares.
std::vector<WorkerResult> worker_results(const Timeline& timeline, double seconds);

}  // namespace evener
