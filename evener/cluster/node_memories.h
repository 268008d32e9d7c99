// What nodes remember beside the model: their optimizer's sums, and what compression owes. The
// coordinator asks for it for a checkpoint, and gives it back where a run goes on from one.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "evener/cluster/payload.h"
#include "evener/cluster/transport.h"
#include "evener/cluster/wire.h"
#include "evener/runtime/node_replica.h"

namespace evener {

/// The messages that carry a memory, either way; none of it: the node begins anew.
std::vector<Message> messages_of(const NodeMemory& memory, const PayloadFormat& format);

/// Puts a memory together as it comes. Error where it cannot be one.
class MemoryReader {
 public:
  /// `format` outlives it.
  explicit MemoryReader(const PayloadFormat& format) : format_(format) {}
  // Whether it is complete with this.
  bool begin(const wire::Memory& head);
  bool feed(const wire::Chunk& chunk, const Message& message);
  /// A vector is coming in.
  bool reads() const { return reader_ != nullptr; }
  /// Where a number was not finite: nothing.
  NodeMemory take();

 private:
  bool complete() const { return vectors_ == 0 || (memory_.size() == vectors_ && !reader_); }

  const PayloadFormat& format_;
  std::size_t vectors_ = 0;
  NodeMemory memory_;
  bool finite_ = true;
  std::unique_ptr<PayloadReader> reader_;
};

class NodeMemories {
 public:
  explicit NodeMemories(std::size_t places) : nodes_(places) {}

  // The coordinator's thread, while every node is idle.
  void begin(const Network& network);
  /// Waits for those that are there; of the others, nothing. `applied`: what became of each one's
  /// last push.
  std::vector<NodeMemory> recall(const std::vector<char>& applied);
  /// Told to whoever has the place before its next order.
  void remember(std::vector<NodeMemory> memories);

  // Any thread.
  void join(int node, std::shared_ptr<Channel> channel);
  void leave(int node);
  /// What the node is to remember goes there, once.
  void tell(int node, Channel& to);
  void recalled(int node, const wire::Memory& memory);
  /// False: the chunk is of something else.
  bool chunk(int node, const wire::Chunk& chunk, const Message& message);

 private:
  struct Node {
    std::shared_ptr<Channel> channel;    // null: nobody is there
    std::optional<MemoryReader> reader;  // of what was asked for
    NodeMemory memory;                   // that came
    std::optional<NodeMemory> pending;   // to be told
  };
  Node& at(int node) { return nodes_[static_cast<std::size_t>(node)]; }
  void finish(Node& node);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<PayloadFormat> format_;
  std::vector<Node> nodes_;
};

}  // namespace evener
