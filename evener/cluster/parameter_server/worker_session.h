// Where a server meets one node: who it is, what it was granted and what it pushes. Used by
// server.cc.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "evener/cluster/parameter_server/push_pull_session.h"

namespace evener {

class WorkerSession {
 public:
  explicit WorkerSession(int node) : node_(node), push_pull_(node) {}

  /// The coordinator lets this node pull now and push once; if it is not here yet, when it comes.
  void grant(const wire::Grant& grant, ServedShard& shard) {
    const std::lock_guard lock(mutex_);
    granted_ = grant;
    waits_ = true;
    serve(shard);
  }
  /// Nothing of the node's is waited for any more.
  void forget() {
    const std::lock_guard lock(mutex_);
    push_pull_.drop();
    granted_.Clear();
    waits_ = false;
  }
  /// What a transport's thread wrote into the shard's push is seen by who calls this.
  void see() { const std::lock_guard lock(mutex_); }

  void arrive(std::shared_ptr<Channel> channel, std::uint64_t generation, ServedShard& shard) {
    const std::lock_guard lock(mutex_);
    channel_ = std::move(channel);
    generation_ = generation;
    serve(shard);
  }
  void leave(const std::shared_ptr<Channel>& channel) {
    const std::lock_guard lock(mutex_);
    if (channel_ == channel) channel_.reset();
  }
  void close(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (channel_) channel_->close(why);
  }
  // What is to be told of a push, when it is complete or cannot be used. One that was not granted,
  // or came before, is passed over.
  std::optional<wire::Pushed> begin(const wire::Push& push, ServedShard& shard) {
    const std::lock_guard lock(mutex_);
    if (push.sequence() != granted_.sequence() || push.generation() != granted_.generation() ||
        push_pull_.coming() || waits_) {
      return std::nullopt;
    }
    return told([&] { return push_pull_.begin(shard, push.push()); });
  }
  std::optional<wire::Pushed> feed(const wire::Chunk& chunk, const Message& message) {
    const std::lock_guard lock(mutex_);
    if (!push_pull_.coming() || chunk.sequence() != granted_.sequence()) return std::nullopt;
    return told([&] { return push_pull_.feed(chunk, message); });
  }

 private:
  void serve(ServedShard& shard) {
    if (!waits_ || !channel_ || generation_ != granted_.generation()) return;
    waits_ = false;
    wire::Head head;
    head.mutable_order()->set_sequence(granted_.sequence());
    push_pull_.order(shard, head, *channel_);
  }
  template <class F>
  std::optional<wire::Pushed> told(F step) {
    wire::Pushed pushed;
    pushed.set_node(static_cast<std::uint32_t>(node_));
    pushed.set_generation(granted_.generation());
    pushed.set_sequence(granted_.sequence());
    try {
      if (!step()) return std::nullopt;
    } catch (const Error& problem) {
      push_pull_.drop();
      pushed.set_invalid(problem.what());
    }
    pushed.set_bytes(push_pull_.bytes());
    granted_.Clear();  // once
    return pushed;
  }

  int node_;
  std::mutex mutex_;
  std::shared_ptr<Channel> channel_;
  std::uint64_t generation_ = 0;  // of the node that the channel goes to
  wire::Grant granted_;
  bool waits_ = false;  // granted, and the node is not here yet
  PushPullSession push_pull_;
};

}  // namespace evener
