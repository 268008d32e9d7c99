#include "evener/policy/batch_scaler.h"

#include <algorithm>
#include <cmath>

#include "evener/core/error.h"

namespace evener {

BatchScaler::BatchScaler(const PolicyConfig& config) {
  const StrategyValues& v = config.values;
  most_ = v.number("b-max", static_cast<double>(config.own_batch()));
  least_ = v.number("b-min", std::max(1.0, std::floor(most_ / 8)));
  if (least_ > most_) {
    throw UsageError("the batch bounds cross: b-min " + v.word("b-min") + " is more than b-max " +
                     std::to_string(static_cast<std::size_t>(most_)));
  }
  beta_ = v.number("beta", least_ / 2);
  fixed_step_ = v.is("scaler", "released");
  splits_ = v.is("scaler", "split");
  by_throughput_ = splits_ || v.is("scaler", "throughput");
  moves_ = !v.is("scaler", "off");
  anchored_ = v.is("rate-scaling", "anchored");
  linear_ = v.is("rate-scaling", "linear");
  smoothing_ = v.number("smoothing");
  dead_band_ = v.number("dead-band");
  warmup_ = v.number("warmup");
  decay_ = v.number("rate-decay");
  start_ = v.is("b-start", "max") ? most_ : least_;
  mega_batch_ = static_cast<std::size_t>(v.number("mega-batch", 0) * most_);
  workers_ = std::max(1, config.workers);
}

void BatchScaler::join(int worker) {
  if (progress_.size() <= index(worker)) progress_.resize(index(worker) + 1);
  progress_[index(worker)] = {splits_ ? start_ / workers_ : start_, 0, 0, 0};
}

void BatchScaler::begin_mega_batch() {
  for (auto& device : progress_) device.updates = device.rows = 0;
}

void BatchScaler::finished(const Finished& event) {
  DeviceProgress& device = at(event.worker);
  ++device.updates;
  if (event.seconds <= 0) return;
  const double now = static_cast<double>(event.rows) / event.seconds;
  device.rows_per_second =
      device.rows_per_second > 0 ? std::lerp(device.rows_per_second, now, smoothing_) : now;
}

void BatchScaler::scale(const std::vector<int>& workers) {
  if (!moves_ || workers.size() < 2 || warming_up()) return;
  if (by_throughput_) {
    scale_by_throughput(workers);
  } else {
    scale_by_updates(workers);
  }
}

void BatchScaler::scale_by_updates(const std::vector<int>& workers) {
  double mean = 0;
  for (const int worker : workers) mean += static_cast<double>(at(worker).updates);
  mean /= static_cast<double>(workers.size());
  for (const int worker : workers) {
    DeviceProgress& device = at(worker);
    const double ahead = static_cast<double>(device.updates) - mean;
    if (ahead == 0) continue;
    const double move = fixed_step_ ? std::copysign(beta_, ahead) : beta_ * ahead;
    const double batch = device.batch + move;
    // As published: a move that would leave the bounds is not made at all.
    if (batch <= most_ && batch >= least_) device.batch = batch;
  }
}

// Batches in proportion to the rates take equally long, so that updates become equal at once.
void BatchScaler::scale_by_throughput(const std::vector<int>& workers) {
  double fastest = 0;
  double sum = 0;
  for (const int worker : workers) {
    fastest = std::max(fastest, at(worker).rows_per_second);
    sum += at(worker).rows_per_second;
  }
  const double whole = splits_ ? sum : fastest;
  for (const int worker : workers) {
    DeviceProgress& device = at(worker);
    if (device.rows_per_second <= 0) continue;
    const double least = splits_ ? 1 : least_;
    const double batch = std::clamp(most_ * device.rows_per_second / whole, least, most_);
    if (std::abs(batch / device.batch - 1) > dead_band_) device.batch = batch;
  }
}

std::size_t BatchScaler::round(const std::vector<int>& workers) const {
  std::size_t sum = 0;
  for (const int worker : workers) sum += rows(worker);
  return sum;
}

std::size_t BatchScaler::rows(int worker) const {
  return std::max<std::size_t>(
      1, static_cast<std::size_t>(std::lround(progress_.at(index(worker)).batch)));
}

double BatchScaler::rate(int worker) const {
  const double scaled = linear_ ? progress_.at(index(worker)).batch / start_ : 1;
  if (warming_up()) return scaled * static_cast<double>(epoch_ + 1) / warmup_;
  return scaled / (1 + decay_ * (static_cast<double>(epoch_) - warmup_));
}

bool BatchScaler::any_updates() const {
  return std::any_of(progress_.begin(), progress_.end(),
                     [](const auto& d) { return d.updates > 0; });
}

std::vector<StrategyOption> batch_size_options() {
  return {
      number_option("b-max", "auto", 1, kMostRows,
                    "largest batch [rows]; auto: the run's batch size"),
      number_option("b-min", "auto", 1, kMostRows, "smallest batch [rows]; auto: b-max/8"),
      word_option("b-start", {"max", "min"}, "first batch size"),
      number_option("mega-batch", "auto", 1, kMostRows,
                    "between two merges [batches of b-max]; auto: so that merges take merge-share "
                    "of the time (ours)"),
      number_option("merge-share", "0.1", 0.001, 1, "of mega-batch=auto: share of the time"),
      word_option("scaler", {"throughput", "split", "paper", "released", "off"},
                  "batch sizes are b-max for the fastest device, and others by the measured rates "
                  "(ours); are parts of b-max by the rates (ours); move by beta times the updates "
                  "ahead; by beta; not at all"),
      number_option("beta", "auto", 0, kMostRows,
                    "rows for each update ahead of the mean; auto: b-min/2"),
      number_option("smoothing", "0.5", 0.01, 1, "of scalers by rates: weight of the newest rate"),
      number_option("dead-band", "0.05", 0, 1, "of scalers by rates: smaller moves are not made"),
      word_option("rate-scaling", {"anchored", "linear", "off"},
                  "the learning rate of a step follows its rows (--reference-batch; ours); moves "
                  "with the batch size, from its value at b-start; is the same for all")};
}

std::vector<StrategyOption> rate_schedule_options() {
  return {number_option("warmup", "0", 0, kMostRows, "epochs at b-min with a rising learning rate"),
          number_option("rate-decay", "0", 0, kMostRows,
                        "lr / (1 + rate-decay * epochs after warm-up)")};
}

}  // namespace evener
