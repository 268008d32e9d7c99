// A task: the batch or batches that the scheduler gives to one worker. An executor runs it and
// returns it in an Arrival, with its loss and its timing.
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

/// What a kind of work means to the scheduler and the timeline.
struct WorkTraits {
  const char* name = "";     // in traces and messages
  bool shared = false;       // it starts from a model that other workers update meanwhile
  bool merged_late = false;  // the global model gets it later, by a decision of the policy
};
WorkTraits traits_of(Work work);

/// One step.
struct Part {
  Slice slice;
  Step step;
};

struct Task {
  int worker = 0;
  Work work = Work::local;
  std::vector<Part> parts;    // run side by side; those of a push run one after the other
  std::optional<Part> next;   // the step that the worker will most likely get after these
  std::uint64_t version = 0;  // of the shared model when the task was assigned
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

/// The timing and traffic of a task.
struct TaskStats {
  Seconds begin = 0;  // when the work began, on the executor's clock
  Seconds compute = 0, transfer = 0;
  Seconds end = 0;
  std::size_t bytes = 0;  // of the pull and the push
};

/// What an executor returns: a task that has ended, or a gossip message that has arrived.
struct Arrival {
  Task task;
  double loss_sum = 0;  // over the task's rows
  TaskStats stats;
  std::string failure;                     // not empty: the worker is lost, and why
  bool blameless = false;                  // the task's batch cannot be the cause of the failure
  std::string invalid;                     // not empty: the push cannot be used, and why
  std::optional<GossipMessage> message{};  // set: this message has arrived, and no task has ended
};

}  // namespace evener
