// A shard of the model with the sessions of all workers that pull from it and push to it. A shard
// server has one. A coordinator that holds the whole model has one too.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "evener/cluster/parameter_server/worker_session.h"
#include "evener/policy/decisions.h"

namespace evener {

/// All calls: Error where there is no such worker.
class ShardHost {
 public:
  ShardHost(const Shard& shard, std::size_t workers, const Compression& pushes, int threads)
      : shard_(shard, workers, pushes, threads) {
    for (std::size_t i = 0; i < workers; ++i) sessions_.emplace_back(static_cast<int>(i), shard_);
  }

  // Workers: any thread.
  WorkerSession& session(std::uint64_t worker) {
    if (worker >= sessions_.size()) throw Error("there is no such worker");
    return sessions_[worker];
  }
  void close(const std::string& why) {
    for (auto& session : sessions_) session.close(why);
  }

  // Decisions: one thread at a time.
  void apply_pushes(const ApplyPushes& decision) {
    for (const int worker : decision.workers) at(worker).synchronize();
    shard_.store.apply_pushes(decision);
  }
  void reject(int worker) {
    at(worker).synchronize();
    shard_.store.reject(worker);
  }
  /// The worker is lost.
  void forget(int worker) {
    at(worker).revoke();
    shard_.store.forget(worker);
  }

  ParameterStore& store() { return shard_.store; }
  /// The format of all numbers of the shard.
  const ModelUpdateFormat& format() const { return shard_.pull_format; }

 private:
  WorkerSession& at(int worker) { return session(static_cast<std::uint64_t>(worker)); }

  ServedShard shard_;
  std::deque<WorkerSession> sessions_;  // by slot
};

}  // namespace evener
