// What nodes remember beside the model: their optimizer's sums, and what compression owes. The
// coordinator asks for it for a checkpoint, and gives it back where a run goes on from one.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "evener/cluster/transport/transport.h"
#include "evener/cluster/wire/payload.h"
#include "evener/cluster/wire/wire.h"
#include "evener/runtime/node_replica.h"

namespace evener {

/// The messages that carry a memory, either way; none of it: the node begins anew.
std::vector<Message> messages_of(const WorkerState& memory, const PayloadFormat& format);

/// Puts a memory together as it comes. Error where it cannot be one.
class WorkerStateReader {
 public:
  /// `format` outlives it.
  explicit WorkerStateReader(const PayloadFormat& format) : format_(format) {}
  // Whether it is complete with this.
  bool begin(const wire::WorkerState& head);
  bool feed(const wire::Chunk& chunk, const Message& message);
  /// A vector is coming in.
  bool reads() const { return reader_ != nullptr; }
  /// Where a number was not finite: nothing.
  WorkerState take();

 private:
  bool complete() const { return vectors_ == 0 || (state_.size() == vectors_ && !reader_); }

  const PayloadFormat& format_;
  std::size_t vectors_ = 0;
  WorkerState state_;
  bool finite_ = true;
  std::unique_ptr<PayloadReader> reader_;
};

class WorkerStates {
 public:
  explicit WorkerStates(std::size_t slots) : nodes_(slots) {}

  // The coordinator's thread, while every node is idle.
  void begin(const Network& network);
  /// Waits for those that are there; of the others, nothing. `applied`: what became of each one's
  /// last push.
  std::vector<WorkerState> fetch(const std::vector<char>& applied);
  /// Told to whoever has the slot before its next order.
  void remember(std::vector<WorkerState> worker_states);

  // Any thread.
  void join(int node, std::shared_ptr<Channel> channel);
  void leave(int node);
  /// What the node is to remember goes there, once.
  void tell(int node, Channel& to);
  void worker_state_arrived(int node, const wire::WorkerState& memory);
  /// False: the chunk is of something else.
  bool chunk(int node, const wire::Chunk& chunk, const Message& message);

 private:
  struct Node {
    std::shared_ptr<Channel> channel;         // null: nobody is there
    std::optional<WorkerStateReader> reader;  // of what was asked for
    WorkerState memory;                       // that came
    std::optional<WorkerState> pending;       // to be told
  };
  Node& at(int node) { return nodes_[static_cast<std::size_t>(node)]; }
  void finish(Node& node);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<PayloadFormat> format_;
  std::vector<Node> nodes_;
};

}  // namespace evener
