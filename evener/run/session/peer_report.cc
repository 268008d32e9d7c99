#include "evener/run/session/peer_report.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "evener/run/report/epoch_line.h"
#include "evener/run/session/best_model.h"
#include "evener/run/session/evaluate.h"
#include "evener/run/session/trainer.h"
#include "evener/runtime/replica_distance.h"

namespace evener {

PeerReport::PeerReport(const TrainOptions& options, const TrainingData& data,
                       const GossipWork& work, PeerReplica& replica, Reporter& reporter,
                       Checkpoint& start, const RunDirectory* directory)
    : options_(options),
      data_(data),
      replica_(replica),
      reporter_(reporter),
      start_(start),
      directory_(directory),
      evaluates_(directory != nullptr && data.evaluation.has_value()),
      epoch_(static_cast<std::uint64_t>(epochs_done(work, work.steps))) {
  state_.epochs = options.epochs;
}

void PeerReport::step(double epochs, const GossipResult& so_far) {
  const auto whole = static_cast<std::uint64_t>(epochs);
  state_.epoch = std::min<std::uint64_t>(whole + 1, options_.epochs);
  state_.epoch_share = epochs - std::floor(epochs);
  state_.total_share = std::min(1.0, epochs / static_cast<double>(options_.epochs));
  state_.seconds = clock_.elapsed();
  if (first_epochs_ < 0) {
    first_epochs_ = epochs;
    first_ = state_.seconds;
  }
  state_.samples_per_second = (epochs - first_epochs_) * static_cast<double>(data_.row_count()) /
                              std::max(state_.seconds - first_ - evaluating_, 1e-9);
  state_.loss = so_far.loss;
  reporter_.update(state_);
  // After the last one the mean of all is evaluated instead.
  if (whole > std::exchange(epoch_, std::max(whole, epoch_)) && whole < options_.epochs) {
    end_epoch(whole, so_far);
  }
}

Metrics PeerReport::finish(const GossipResult& result) {
  return end_epoch(options_.epochs, result);
}

Metrics PeerReport::end_epoch(std::uint64_t epoch, const GossipResult& so_far) {
  const auto count = [](std::uint64_t number) { return static_cast<std::int64_t>(number); };
  const std::uint64_t steps =
      std::accumulate(so_far.steps.begin(), so_far.steps.end(), std::uint64_t{0});
  std::vector<Field> whole{{"epoch", count(epoch)},
                           {"train_loss", so_far.loss},
                           {"samples_per_second", state_.samples_per_second},
                           {"bytes", count(so_far.sent + so_far.received)},
                           {"exchanges", count(so_far.exchanges)}};
  measure_distance(so_far);
  if (distance_) whole.emplace_back("replica_distance", *distance_);
  reporter_.record({"epoch", steps, clock_.elapsed(), std::move(whole)});
  EpochLine line{epoch, options_.epochs, so_far.loss};
  line.has_test = !options_.test.empty();
  line.samples_per_second = state_.samples_per_second;
  Metrics metrics;
  if (evaluates_ && (epoch % options_.eval_every == 0 || epoch == options_.epochs)) {
    const Stopwatch watch;
    metrics = evaluated();
    keep_best(metrics, epoch);
    evaluating_ += watch.elapsed();
    state_.metrics = metrics_line(metrics);
    line.metrics = &metrics;
    auto fields = metric_fields(metrics);
    fields.insert(fields.begin(), {"epoch", count(epoch)});
    fields.emplace_back("eval_seconds", watch.elapsed());
    reporter_.record({"eval", steps, clock_.elapsed(), std::move(fields)});
  }
  line.seconds = clock_.elapsed();
  reporter_.say(text_of(line));
  reporter_.flush();
  return metrics;
}

void PeerReport::keep_best(const Metrics& metrics, std::uint64_t epoch) {
  const std::string by = deciding_metric(options_);
  if (!is_best(start_.progress, by, metrics.at(by), epoch)) return;
  replica_.look([&](std::span<const float> model) {
    std::copy_n(model.data(), model.size(), start_.model.parameters.data());
  });
  save_model(start_.model, directory_->best_model());
}

/// Of the exchanges since the last time; where there was none it is what it was.
void PeerReport::measure_distance(const GossipResult& so_far) {
  const std::uint64_t met = so_far.met - std::exchange(met_, so_far.met);
  const double apart = so_far.apart - std::exchange(apart_, so_far.apart);
  if (met == 0) return;
  distance_ = distance_by_pairs(apart / static_cast<double>(met), so_far.steps.size());
}

Metrics PeerReport::evaluated() const {
  if (!evaluates_) return {};
  const auto predictions = predict_all(replica_.device(), *data_.evaluation, kEvaluationTop);
  return evaluate(*predictions, data_.evaluation->labels, data_.train.label_count,
                  data_.inverse_propensity);
}

}  // namespace evener
