// The ledger of one epoch: which rows are left to train (epoch_rows.h), which rows each worker has
// trained that the global model does not contain yet, and the position that results. A row leaves
// the ledger when the global model contains it; if its worker is lost or its push is rejected
// before that, the row is trained again.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "evener/runtime/epoch_rows.h"
#include "evener/runtime/plan.h"
#include "evener/runtime/task.h"

namespace evener {

class EpochLedger {
 public:
  explicit EpochLedger(std::size_t workers) : workers_(workers) {}
  EpochLedger(const EpochLedger&) = delete;
  EpochLedger& operator=(const EpochLedger&) = delete;

  /// Starts at the position, which is updated in place until close().
  void open(const EpochPlan& plan, Position& position);
  /// The epoch has ended or pauses. The caller's position is not used any more.
  void close();

  /// Error before the first epoch.
  EpochRows& rows();
  Position& position() { return *position_; }
  bool exhausted() const { return rows_ && rows_->exhausted(); }

  /// A task has ended. `unmerged`: its rows stay in the worker's ledger until mark_merged().
  void add_trained(const Task& task, double loss_sum, bool unmerged);
  /// The global model, or another peer's, contains all that the worker has trained.
  void mark_merged(int worker);
  void mark_all_merged();

  /// The worker's push is rejected: its rows are trained again.
  void return_rejected(int worker);
  /// The worker's task cannot be used: its rows are trained again.
  void return_invalid(std::span<const Part> parts);
  /// The worker is lost with the task that it had: the task's rows and its unmerged rows are
  /// trained again. Error if some of them were lost `most_losses` times before; without it, this
  /// loss does not count. Returns the number of rows, nominal.
  std::size_t return_lost(int worker, std::span<const Part> parts, std::optional<int> most_losses);

 private:
  struct WorkerLedger {
    std::vector<Slice> unmerged;
    double unmerged_loss = 0;  // summed over their rows
  };

  WorkerLedger& of(int worker) { return workers_[static_cast<std::size_t>(worker)]; }
  static void clear(WorkerLedger& ledger);

  std::vector<WorkerLedger> workers_;
  std::optional<EpochRows> rows_;
  Position closed_;  // a copy of the position after close()
  Position* position_ = &closed_;
};

}  // namespace evener
