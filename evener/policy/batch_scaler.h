// The SCALE step of Adaptive SGD [A]: each device's batch size and learning rate, and the updates
// it did in the current mega-batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "evener/policy/policy.h"
#include "evener/policy/strategy.h"

namespace evener {

struct DeviceProgress {
  double batch = 0;            // b_i, rows
  std::size_t updates = 0;     // u_i, in this mega-batch
  std::size_t rows = 0;        // taken in this mega-batch
  double rows_per_second = 0;  // smoothed; 0: not known yet
};

class BatchScaler {
 public:
  explicit BatchScaler(const PolicyConfig& config);

  void join(int worker);
  void leave(int worker) { at(worker) = {}; }
  void begin_epoch(std::uint64_t epoch) { epoch_ = epoch; }
  void begin_mega_batch();
  void took(int worker, std::size_t rows) { at(worker).rows += rows; }
  void finished(const Finished& event);
  /// Adapts the batch sizes of these workers to the updates of the mega-batch.
  void scale(const std::vector<int>& workers);

  std::size_t mega_batch() const { return mega_batch_; }     // samples
  std::size_t rows(int worker) const;                        // of the next batch
  std::size_t round(const std::vector<int>& workers) const;  // of one batch of each
  double rate(int worker) const;                             // factor of the learning rate
  /// Assign::update_rows.
  std::size_t update_rows(const std::vector<int>& workers) const {
    return anchored_ ? round(workers) : kAnyRows;
  }
  std::size_t rows_taken(int worker) const { return progress_.at(index(worker)).rows; }
  bool any_updates() const;
  const std::vector<DeviceProgress>& progress() const { return progress_; }

 private:
  static std::size_t index(int worker) { return static_cast<std::size_t>(worker); }
  DeviceProgress& at(int worker) { return progress_.at(index(worker)); }
  bool warming_up() const { return static_cast<double>(epoch_) < warmup_; }
  void scale_by_updates(const std::vector<int>& workers);
  void scale_by_throughput(const std::vector<int>& workers);

  double most_, least_, start_;  // b_max, b_min, b_0
  double beta_;                  // rows for each update ahead or behind
  bool fixed_step_;              // scaler=released: beta rows whatever the distance
  bool by_throughput_, moves_;
  bool splits_;             // scaler=split: the batches of all devices together have b_max rows
  double workers_;          // at the start
  bool anchored_, linear_;  // how the learning rate follows the batch size
  double smoothing_, dead_band_;
  double warmup_, decay_;  // epochs; per epoch after warm-up
  std::size_t mega_batch_;
  std::uint64_t epoch_ = 0;
  std::vector<DeviceProgress> progress_;
};

/// The options that it reads: of batch sizes, and of the learning rate over epochs.
std::vector<StrategyOption> batch_size_options();
std::vector<StrategyOption> rate_schedule_options();

}  // namespace evener
