// What a worker is asked to do, and what it answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evener/core/time.h"
#include "evener/nn/training.h"
#include "evener/policy/policy.h"
#include "evener/runtime/epoch_rows.h"

namespace evener {

/// One step.
struct Part {
  Slice slice;
  Step step;
};

struct Task {
  int worker = 0;
  Work work = Work::local;
  std::vector<Part> parts;    // done side by side; of a push, one after the other
  std::optional<Part> next;   // what the worker will most likely be asked after these
  std::uint64_t version = 0;  // of the shared model when it was assigned
  Seconds assigned = 0;

  std::size_t rows() const {
    std::size_t sum = 0;
    for (const auto& part : parts) sum += part.slice.rows.size();
    return sum;
  }
  std::size_t nominal() const {
    std::size_t sum = 0;
    for (const auto& part : parts) sum += part.slice.nominal;
    return sum;
  }
};

/// Where a task's time went.
struct Spent {
  Seconds begin = 0;  // of the work, on the runtime's clock
  Seconds compute = 0, transfer = 0;
  Seconds end = 0;
  std::size_t bytes = 0;  // that a pull and a push moved
};

struct Arrival {
  Task task;
  double loss_sum = 0;  // over the task's rows
  Spent spent;
  std::string failure;                     // not empty: the worker is lost, and why
  std::string invalid;                     // not empty: what it pushed cannot be used, and why
  std::optional<GossipMessage> message{};  // it is no task that has ended, but this that has come
};

}  // namespace evener
