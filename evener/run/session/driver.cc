#include "evener/run/session/driver.h"

#include <cmath>
#include <utility>

#include "evener/core/error.h"
#include "evener/run/report/metric_text.h"
#include "evener/run/session/best_model.h"
#include "evener/run/session/evaluate.h"

namespace evener {

Driver::Driver(const DriverOptions& driver_options, TrainOptions& options,
               const RunContext& context, const TrainingData& data, Backend& backend,
               Checkpointing& checkpoints, ProgressReport& report)
    : driver_options_(driver_options),
      options_(options),
      context_(context),
      data_(data),
      backend_(backend),
      checkpoints_(checkpoints),
      report_(report),
      optimizer_vectors_(static_cast<std::size_t>(state_vectors(training_of(options).optimizer))) {
  if (evaluates_here()) best_by_ = deciding_metric(options_);
  closed_ = backend_.position().epoch;
}

TrainResult Driver::run() {
  report_.say_start(checkpoints_.network());
  if (context_.training_begins) context_.training_begins();
  backend_.join();
  while (backend_.position().epoch < options_.epochs &&
         !stops_early(options_, checkpoints_.progress())) {
    train_part();
    take_news();
    if (interrupted() != 0) return interrupt();
    if (epoch_done_) {
      if (!finish_epoch()) return interrupt();
    } else if (backend_.position().next_row >= part_end_) {
      if (!evaluate_model()) return interrupt();
    } else {
      save();
    }
  }
  return complete();
}

void Driver::train_part() {
  report_.begin_part();
  checkpoint_due_ = false;
  const Position position = backend_.position();
  part_end_ = position.next_row + data_.row_count() / driver_options_.evaluations_per_epoch + 1;
  part_begin_ = backend_.now();
  epoch_done_ = backend_.run_epoch(evaluates(position.epoch + 1),
                                   [this](const StepReport& report) { return after_step(report); });
  train_seconds_ += backend_.now() - part_begin_;
  part_begin_ = backend_.now();
}

bool Driver::after_step(const StepReport& report) {
  report_.step(report);
  take_news();
  backend_.publish_status(report_.display_state(), report_.step_seconds());
  const double minutes = options_.checkpoint_minutes;
  checkpoint_due_ = checkpoint_due_ || (checkpoints_.writes() && minutes > 0 &&
                                        report_.elapsed() - last_checkpoint_ >= 60 * minutes);
  report_.end_step();
  return interrupted() == 0 && !checkpoint_due_ && backend_.position().next_row < part_end_;
}

void Driver::take_news() {
  const BackendNews news = backend_.take_news(options_);
  report_.report(news);
  if (!news.resolved_auto) return;
  trial_seconds_ = train_seconds_ + backend_.now() - part_begin_;
  checkpoints_.write_options(options_);
}

bool Driver::finish_epoch() {
  // Steps of other peers may complete several epochs at once.
  const std::uint64_t epoch = backend_.position().epoch + 1;
  const bool evaluated = evaluates_here() && evaluates(epoch);
  double eval_seconds = 0;
  if (evaluated) {
    const Stopwatch watch;
    if (!evaluate_model()) return false;
    eval_seconds = watch.elapsed();
    keep_best(epoch);
  }
  if (averages(epoch)) checkpoints_.add_to_average(optimizer_vectors_);
  report_.end_epoch(epoch, evaluated ? &metrics_ : nullptr, eval_seconds);
  backend_.close_epoch();
  const std::uint64_t every = options_.checkpoint_every;
  const bool due = every > 0 && epoch / every > closed_ / every;
  closed_ = epoch;
  if (due && epoch < options_.epochs) save();
  return true;
}

bool Driver::evaluate_model() {
  std::optional<Predictions> predictions;
  backend_.evaluate([&](Replica& replica) {
    predictions = predict_all(replica, *data_.evaluation, kEvaluationTop,
                              [this] { return interrupted() != 0; });
  });
  if (!predictions) return false;
  metrics_ = evaluate(*predictions, data_.evaluation->labels, data_.train.label_count,
                      data_.inverse_propensity);
  report_.show_metrics(metrics_);
  const Position position = backend_.position();
  metrics_epoch_ = position.epoch + (position.next_row > 0 ? 1 : 0);
  metrics_step_ = position.step;
  if (!std::isfinite(metrics_.at("loss"))) throw DivergedError("the evaluation loss is not finite");
  if (metrics_.count(best_by_) == 0) {
    throw UsageError("--early-stop " + best_by_ +
                     ": this data has no such metric (accuracy needs one label a row, auc two "
                     "labels)");
  }
  if (driver_options_.evaluated) {
    const BackendReport report = backend_.report(report_.step_seconds());
    const double share =
        static_cast<double>(position.next_row) / static_cast<double>(data_.row_count());
    driver_options_.evaluated({static_cast<double>(position.epoch) + share, train_seconds_,
                               &metrics_, backend_.loss(), report.communication,
                               report.replica_distance});
  }
  return true;
}

void Driver::keep_best(std::uint64_t epoch) {
  if (is_best(checkpoints_.progress(), best_by_, metrics_.at(best_by_), epoch)) {
    checkpoints_.save_best();
  }
}

void Driver::save() {
  checkpoints_.save(report_.seconds(), options_.keep);
  last_checkpoint_ = report_.elapsed();
}

TrainResult Driver::complete() {
  const std::uint64_t epoch = backend_.position().epoch;
  const char* ended = epoch < options_.epochs ? "early stop" : "epochs";
  backend_.finish();
  save();
  const bool averaged = checkpoints_.has_average(optimizer_vectors_);
  if (averaged) {
    // An early stop may end inside the window, so the summands are counted.
    checkpoints_.use_average(epoch + options_.average - options_.epochs);
    metrics_step_.reset();
  }
  if (evaluates_here() && (averaged || metrics_.empty())) {
    if (!evaluate_model()) return leave("signal", interrupted());
  }
  if (averaged && evaluates_here()) {
    report_.say("average of the last epochs  " + metrics_line(metrics_));
    keep_best(epoch);
  }
  return leave(ended, 0);
}

TrainResult Driver::interrupt() {
  const int signal = interrupted();
  backend_.finish();
  save();
  return leave("signal", signal);
}

TrainResult Driver::leave(const std::string& ended, int signal) {
  checkpoints_.save_last();
  TrainResult result;
  result.ended = ended;
  result.signal = signal;
  result.progress = checkpoints_.progress();
  result.metrics = metrics_;
  result.metrics_epoch = metrics_epoch_;
  result.metrics_are_final = metrics_step_ == backend_.position().step;
  result.best_by = best_by_;
  result.virtual_time = backend_.kind() == RunKind::virtual_time;
  result.last_model = checkpoints_.take_last();
  result.best_model = checkpoints_.take_best();
  return result;
}

FinishedSession Driver::session_end() const {
  return {backend_.report(report_.step_seconds()).timeline, train_seconds_, trial_seconds_,
          backend_.position().epoch};
}

}  // namespace evener
