#include "evener/run/session/driver.h"

#include <cmath>
#include <limits>
#include <utility>

#include "evener/core/error.h"
#include "evener/run/report/metric_text.h"
#include "evener/run/session/best_model.h"
#include "evener/run/session/evaluate.h"

namespace evener {

namespace {

constexpr Seconds kNotBeforeTheEnd = std::numeric_limits<Seconds>::infinity();

}  // namespace

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
  if (context_.training_begins) context_.training_begins();
  if (!checkpoints_.prepare_backend()) return interrupt_preparation();
  train_seconds_ = backend_.preparation_seconds();
  report_.say_start(checkpoints_.network());
  backend_.join();
  while (!stops_early(options_, checkpoints_.progress())) {
    if (is_done()) {
      // In a resumed run, this may be the end of the session that was interrupted.
      epoch_done_ = backend_.position().next_row == data_.row_count();
      if (is_cut_short() && !finish_epoch()) return interrupt();
      break;
    }
    train_part();
    take_news();
    if (interrupted() != 0) return interrupt();
    if (epoch_done_) {
      if (!finish_epoch()) return interrupt();
    } else if (is_done()) {
      continue;
    } else if (is_evaluation_due()) {
      if (!evaluate_model()) return interrupt();
    } else {
      save();
    }
  }
  return complete();
}

double Driver::epochs_done() const {
  const Position position = backend_.position();
  return static_cast<double>(position.epoch) +
         static_cast<double>(position.next_row) / static_cast<double>(data_.row_count());
}

bool Driver::is_done() const {
  const Position position = backend_.position();
  if (options_.seconds > 0) return position.seconds >= options_.seconds;
  return position.epoch >= options_.epochs;
}

bool Driver::is_evaluation_due() const {
  const Position position = backend_.position();
  if (driver_options_.evaluation_interval > 0) return position.seconds >= next_evaluation_;
  return position.next_row >= part_end_;
}

bool Driver::evaluates(std::uint64_t epoch) const {
  if (driver_options_.evaluation_interval > 0) return is_evaluation_due() || is_done();
  if (epoch % options_.eval_every == 0) return true;
  return options_.seconds > 0 ? is_done() : epoch >= options_.epochs;
}

bool Driver::averages(std::uint64_t epoch) const {
  if (options_.seconds == 0) return epoch + options_.average > options_.epochs;
  if (options_.average == 0) return false;
  const double time_share = backend_.position().seconds / options_.seconds;
  return is_done() || is_among_last(epoch, options_.average, time_share);
}

void Driver::train_part() {
  report_.begin_part();
  checkpoint_due_ = false;
  const Position position = backend_.position();
  part_end_ = position.next_row + data_.row_count() / driver_options_.evaluations_per_epoch + 1;
  if (const Seconds every = driver_options_.evaluation_interval; every > 0) {
    next_evaluation_ = (std::floor(position.seconds / every) + 1) * every;
    // The end of the run is evaluated anyway.
    if (next_evaluation_ > options_.seconds - every / 2) next_evaluation_ = kNotBeforeTheEnd;
  }
  part_begin_ = backend_.now();
  // Where the time of the run ends within the epoch is not known.
  const bool measures_distance = options_.seconds > 0 || evaluates(position.epoch + 1);
  epoch_done_ = backend_.run_epoch(measures_distance,
                                   [this](const StepReport& report) { return after_step(report); });
  check_data();
  train_seconds_ += backend_.now() - part_begin_;
  part_begin_ = backend_.now();
}

// Steps on a truncated data file may have changed the model, so nothing is saved from here on. The
// last checkpoint is valid: it was checked before it was written.
void Driver::check_data() const {
  check_intact(data_.train);
  if (data_.evaluation) check_intact(*data_.evaluation);
}

bool Driver::after_step(const StepReport& report) {
  report_.step(report);
  take_news();
  backend_.publish_status(report_.display_state(), report_.step_seconds());
  const double minutes = options_.checkpoint_minutes;
  checkpoint_due_ = checkpoint_due_ || (checkpoints_.writes() && minutes > 0 &&
                                        report_.elapsed() - last_checkpoint_ >= 60 * minutes);
  return interrupted() == 0 && !checkpoint_due_ && is_intact(data_.train) && !is_evaluation_due();
}

void Driver::take_news() {
  const BackendNews news = backend_.take_news(options_);
  report_.report(news);
  if (!news.resolved_auto) return;
  trial_seconds_ = train_seconds_ + news.resolved_at - part_begin_;
  checkpoints_.write_options(options_);
}

bool Driver::finish_epoch() {
  checkpoints_.check_directory();
  // Steps of other peers may complete several epochs at once.
  const std::uint64_t epoch = backend_.position().epoch + 1;
  const bool evaluated = evaluates_here() && evaluates(epoch);
  double eval_seconds = 0;
  if (evaluated) {
    const Stopwatch watch;
    if (!evaluate_model()) return false;
    eval_seconds = watch.elapsed();
    note_failure(keep_best(epoch));
  }
  if (epoch_done_ && averages(epoch)) checkpoints_.add_to_average(optimizer_vectors_);
  report_.end_epoch(epoch_done_, evaluated ? &metrics_ : nullptr, eval_seconds);
  if (!epoch_done_) return true;  // a resumed run with more --seconds trains the rest
  backend_.close_epoch();
  const std::uint64_t every = options_.checkpoint_every;
  const bool due = every > 0 && epoch / every > closed_ / every;
  closed_ = epoch;
  if (due && !is_done()) save();
  return true;
}

bool Driver::evaluate_model() {
  std::optional<Predictions> predictions;
  backend_.evaluate([&](Replica& replica) {
    MainSteps::Step step(context_.main_steps.get());
    predictions = predict_all(replica, *data_.evaluation, kEvaluationTop, [&] {
      step.advance();
      return interrupted() != 0;
    });
  });
  if (!predictions) return false;
  metrics_ = evaluate(*predictions, data_.evaluation->labels, data_.train.label_count,
                      data_.inverse_propensity);
  check_data();
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
    driver_options_.evaluated({epochs_done(), train_seconds_, &metrics_, backend_.loss(),
                               report.communication, report.replica_distance});
  }
  return true;
}

std::string Driver::keep_best(std::uint64_t epoch) {
  const bool best = is_best(checkpoints_.progress(), best_by_, metrics_.at(best_by_), epoch);
  return best ? checkpoints_.save_best() : "";
}

void Driver::save() {
  check_data();
  const std::string best = checkpoints_.save_kept_best();
  const std::string failure = checkpoints_.save(report_.seconds(), options_.keep);
  last_checkpoint_ = report_.elapsed();
  if (failure.empty() && best.empty()) {
    if (!std::exchange(unsaved_, "").empty()) report_.say_and_keep("checkpoints are written again");
  } else {
    note_failure(failure.empty() ? best : failure);
  }
}

void Driver::save_at_end() {
  check_data();
  end_failure_ = checkpoints_.save(report_.seconds(), options_.keep);
}

void Driver::note_failure(const std::string& failure) {
  if (failure.empty()) return;
  const bool reported = !std::exchange(unsaved_, failure).empty();
  if (reported) return;
  report_.warn_and_keep("cannot save the run: " + failure +
                        "; training goes on, and the next checkpoint is a new attempt");
}

TrainResult Driver::complete() {
  const Position position = backend_.position();
  const std::uint64_t epoch = position.epoch + (position.next_row > 0 ? 1 : 0);
  const char* ended = !is_done() ? "early stop" : options_.seconds > 0 ? "seconds" : "epochs";
  backend_.finish();
  save_at_end();
  // After the checkpoint, which may be resumed with more --seconds.
  if (is_cut_short() && options_.average > 0) checkpoints_.add_to_average(optimizer_vectors_);
  const bool averaged = checkpoints_.has_average(optimizer_vectors_);
  if (averaged) {
    checkpoints_.use_average();
    metrics_step_.reset();
  }
  if (evaluates_here() && (averaged || metrics_.empty())) {
    if (!evaluate_model()) return leave("signal", interrupted());
  }
  if (averaged && evaluates_here()) {
    report_.say("average of the last epochs  " + metrics_line(metrics_));
    keep_best(epoch);  // after a failure, `leave` tries again
  }
  return leave(ended, 0);
}

TrainResult Driver::interrupt() {
  const int signal = interrupted();
  backend_.finish();
  save_at_end();
  return leave("signal", signal);
}

/// There is nothing new to save. A resumed run has its earlier checkpoint.
TrainResult Driver::interrupt_preparation() {
  TrainResult result;
  result.ended = "signal";
  result.signal = interrupted();
  result.in_preparation = true;
  result.progress = checkpoints_.progress();
  return result;
}

TrainResult Driver::leave(const std::string& ended, int signal) {
  check_data();
  // All are tried: the model may still fit on a disk that is too full for a checkpoint.
  const std::string best = checkpoints_.save_kept_best();
  const std::string last = checkpoints_.save_last();
  for (const auto& failure : {end_failure_, best, last}) {
    if (!failure.empty()) throw SaveError("cannot save the run: " + failure);
  }
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
          epochs_done()};
}

}  // namespace evener
