// An executor runs tasks and provides the clock. There are three: threads and the wall clock
// (wall_clock.h), an event queue and a computed clock (virtual_time.h), and the workers of a
// cluster (cluster/parameter_server). The scheduler is the same on all of them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "evener/core/error.h"
#include "evener/runtime/step_counter.h"
#include "evener/runtime/task.h"

namespace evener {

/// A worker without a task joined or was lost, or its heartbeats stopped or resumed.
struct MembershipChange {
  enum class Kind { joined, lost, suspected, trusted };
  Kind kind = Kind::joined;
  int worker = 0;
  std::string why;            // why it was lost
  std::size_t most_rows = 0;  // joined: the largest batch that its memory holds; 0: no limit
};

class Executor {
 public:
  virtual ~Executor() = default;

  virtual Seconds now() const = 0;
  /// Starts a task on its idle worker and returns at once.
  virtual void start(Task task) = 0;
  /// Waits for the next task that ends or message that arrives. Returns nothing where a timer fires
  /// first or take_change() has something new. Call it only while a task or message is under way,
  /// or waits_for_workers() is true.
  virtual std::optional<Arrival> next() = 0;
  virtual void set_timer(Seconds time) = 0;
  /// Sends a message of this size. It counts as under way, and next() returns it when it arrives.
  virtual void send(const GossipMessage& /*message*/, std::size_t /*bytes*/) {
    throw Error("this executor has no peers to send a message to");
  }

  // Membership.
  virtual bool is_present(int /*worker*/) const { return true; }
  /// The next change, in the order they happened. If a worker is lost while it has a task, the
  /// task's failure reports it instead. One at a time: a change may cause a task for a worker whose
  /// loss is the next change, and start() has to find it.
  virtual std::optional<MembershipChange> take_change() { return std::nullopt; }
  /// Whether a run that has lost every worker waits for new ones to join.
  virtual bool waits_for_workers() const { return false; }

  /// Whether the run should pause: next() has returned nothing because of a signal. Tasks that then
  /// take too long fail.
  virtual bool interrupted() const { return false; }
  /// Called last: waits for the tasks under way. Returns true if a thread hangs, which may use the
  /// models, devices and data at any later time.
  virtual bool end_tasks() { return false; }

  /// Counts the merges, which run on the scheduler's thread; null: not counted.
  virtual MainSteps* main_steps() { return nullptr; }

  // What updates of the global model cost. Called after the update; virtual time advances by it.
  // `vectors`: how many of the model's size each worker sends and receives.
  virtual void pass_merge(std::size_t /*vectors*/) {}
  virtual void pass_apply_pushes(std::size_t /*pushes*/) {}
  /// Bytes that a merge moves from and to a worker.
  virtual std::size_t merge_bytes(int /*worker*/, std::size_t /*vectors*/) const { return 0; }
};

}  // namespace evener
