// A slot for a node at the coordinator's: who has it, and what is under way there. Used by
// nodes.cc.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "evener/cluster/parameter_server/served_model.h"
#include "evener/cluster/transport/transport.h"
#include "evener/cluster/wire/wire.h"
#include "evener/runtime/task.h"

namespace evener {

class WorkerSlot {
 public:
  explicit WorkerSlot(int index) : index_(index) {}

  // Who has it. With the lock of all slots held.
  std::shared_ptr<Channel> channel;  // null: nobody
  const void* session = nullptr;     // that the channel belongs to
  std::string name;
  std::uint64_t generation = 0;
  bool joined = false;  // it is ready for tasks

  /// The node's next task, of which `order` tells it.
  void assign(const Task& given, Seconds now, ServedModel& model);
  /// Sends the task and what its node has to know of the model: without the lock of all slots,
  /// because a large model takes its time.
  void order(Channel& to);
  /// Whether it is the push that is waited for; a stale or repeated one is not.
  bool expects(const wire::Push& push);
  // What a push says of itself, and its parts, or what a server says of its part. The arrival, when
  // it is complete. Error: it cannot be used.
  std::optional<Arrival> begin_push(const wire::Push& push, Seconds now);
  std::optional<Arrival> take_chunk(const wire::Chunk& chunk, const Message& message, Seconds now);
  std::optional<Arrival> take_part(const wire::Pushed& part, Seconds now);
  /// The push at hand cannot be used.
  Arrival mark_invalid(const std::string& why, Seconds now);
  /// The node is gone, or the model is: nothing of the push at hand is used. The task that was
  /// under way.
  std::optional<Task> abandon();

 private:
  Arrival arrival(Seconds now);
  std::optional<Arrival> when_all_have_it(Seconds now);

  int index_;
  std::mutex mutex_;          // of what follows
  std::optional<Task> task_;  // under way
  ServedModel* model_ = nullptr;
  std::uint64_t sequence_ = 0;  // of the last order
  Seconds ordered_ = 0;
  wire::Push push_;
  PushPullSession push_pull_{index_};
  // With servers: how many have their part of the push, its bytes, and why it cannot be used.
  int parts_ = 0;
  std::size_t bytes_ = 0;
  std::string invalid_;
};

}  // namespace evener
