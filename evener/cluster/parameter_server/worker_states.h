// The state that workers keep beside the model: optimizer vectors and the residual of compression.
// The coordinator fetches it for a checkpoint and sends it back when a run is resumed.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "evener/cluster/parameter_server/answer_deadline.h"
#include "evener/cluster/transport/transport.h"
#include "evener/cluster/wire/wire.h"
#include "evener/runtime/node_replica.h"

namespace evener {

/// The messages that carry a state, in either direction. An empty state resets the worker's.
std::vector<Message> messages_of(const WorkerState& state, const ModelUpdateFormat& format);

/// Reads a state as it arrives. Error if it is malformed.
class WorkerStateReader {
 public:
  /// `format` outlives it.
  explicit WorkerStateReader(const ModelUpdateFormat& format) : format_(format) {}
  // Return whether the state is complete.
  bool begin(const wire::WorkerState& head);
  bool feed(const wire::Chunk& chunk, const Message& message);
  /// Whether a vector is arriving.
  bool reads() const { return reader_.has_value(); }
  /// Empty where a number was not finite.
  WorkerState take();

 private:
  bool complete() const { return vectors_ == 0 || (state_.size() == vectors_ && !reader_); }

  const ModelUpdateFormat& format_;
  std::size_t vectors_ = 0;
  WorkerState state_;
  bool finite_ = true;
  std::optional<ModelUpdateReader> reader_;
};

class WorkerStates {
 public:
  WorkerStates(std::size_t slots, InterruptGrace grace)
      : grace_(std::move(grace)), workers_(slots) {}

  // The scheduler's thread, while every worker is idle.
  void begin(const Network& network);
  /// Requests the states of connected workers and waits for them. The states of other slots are
  /// empty. After a signal it waits as long as the grace allows, and disconnects workers that did
  /// not answer. `applied`: by worker, whether its last push was applied.
  std::vector<WorkerState> fetch(const std::vector<char>& applied);
  /// The worker in each slot restores its state before its next order.
  void set(std::vector<WorkerState> states);

  // Any thread.
  void join(int worker, std::shared_ptr<Channel> channel);
  void leave(int worker);
  /// Sends the state that was set for the worker, once.
  void restore(int worker, Channel& to);
  void arrived(int worker, const wire::WorkerState& state);
  /// Returns whether the chunk belongs to a state.
  bool chunk(int worker, const wire::Chunk& chunk, const Message& message);

 private:
  struct Worker {
    std::shared_ptr<Channel> channel;         // null: not connected
    std::optional<WorkerStateReader> reader;  // of the requested state
    WorkerState state;                        // received
    std::optional<WorkerState> pending;       // to be restored
  };
  Worker& at(int worker) { return workers_[static_cast<std::size_t>(worker)]; }
  void finish(Worker& worker);

  InterruptGrace grace_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<ModelUpdateFormat> format_;
  std::vector<Worker> workers_;
};

}  // namespace evener
