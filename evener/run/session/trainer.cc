#include "evener/run/session/trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <sys/resource.h>

#include "evener/core/counted.h"
#include "evener/core/error.h"
#include "evener/core/file.h"
#include "evener/core/finite.h"
#include "evener/run/session/best_model.h"
#include "evener/run/session/evaluate.h"
#include "evener/run/session/start.h"

namespace evener {

namespace {

constexpr std::size_t kStepRecordsPerEpoch = 20;

/// Of the process so far, as the system counts it.
std::int64_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace

bool stops_early(const TrainOptions& options, const Progress& progress) {
  return options.early_stop != "none" && progress.best_epoch > 0 &&
         progress.epochs_since_best >= options.patience;
}

std::string deciding_metric(const TrainOptions& options) {
  return options.early_stop == "none" ? "p@1" : options.early_stop;
}

Trainer::Trainer(const TrainOptions& options, const RunContext& context, Reporter& reporter,
                 const RunDirectory& directory, EngineSetup setup, TrainingData data,
                 Checkpoint start, KeepChoice keep_choice)
    : options_(options),
      context_(context),
      reporter_(reporter),
      directory_(directory),
      data_(std::move(data)),
      current_(std::move(start)),
      optimizer_vectors_(static_cast<std::size_t>(state_vectors(training_of(options).optimizer))),
      keep_choice_(std::move(keep_choice)),
      seconds_before_(current_.progress.seconds),
      record_rows_(std::max<std::uint64_t>(1, data_.row_count() / kStepRecordsPerEpoch)) {
  const Progress& progress = current_.progress;
  position_ = {progress.step, progress.epoch, progress.next_row, progress.train_loss_sum};
  if (data_.evaluation) best_by_ = deciding_metric(options_);

  set_training(setup, options_, data_, current_.model.network);
  hint_ = batch_hint(setup, current_.model.network);
  selector_ = std::make_unique<DeviceSelector>(std::move(setup), keep_choice_ != nullptr);
  engine().set_steps(progress.worker_steps);
  give_back();
  if (progress.step > 0) engine().models().restore(std::exchange(current_.kept, {}));
}

TrainResult Trainer::run() {
  const std::string strategy = engine().strategy().text();
  reporter_.say(fmt::format(
      "{} on {}{} ({}, {}, {}, {})", engine().is_virtual() ? "simulating training" : "training",
      engine().device_names(),
      !selector_->decided()                                      ? ", whichever are worth it"
      : engine().strategy().strategy->sharing == Sharing::single ? ""
                                                                 : " by " + strategy,
      counted(data_.row_count(), "row"), counted(data_.train.feature_count, "feature"),
      counted(data_.train.label_count, "label"),
      counted(layout_of(current_.model.network).parameters(), "parameter")));
  if (!hint_.empty()) reporter_.say(hint_);
  if (context_.training_begins) context_.training_begins();
  while (position_.epoch < options_.epochs && !stops_early(options_, current_.progress)) {
    last_step_end_ = step_clock();
    if (position_.next_row == 0) epoch_begin_seconds_ = step_seconds_;
    rows_trained_ = position_.next_row;
    checkpoint_due_ = false;
    engine().plan().measures_distance = looks(position_.epoch + 1);
    const bool whole = selector_->run_epoch(
        position_, [this](const StepReport& report) { return after_step(report); });
    tell_news();
    if (const int signal = interrupted(); signal != 0) return interrupt(signal);
    if (!whole) {
      save();
    } else if (!finish_epoch()) {
      return interrupt(interrupted());
    }
  }
  return complete(position_.epoch < options_.epochs ? "early stop" : "epochs");
}

void Trainer::tell_news() {
  for (const auto& note : selector_->take_notes()) say_and_keep(note);
  const char* kind = context_.nodes ? "worker" : "device";
  for (const auto& loss : selector_->take_dropped_workers()) {
    const std::string text =
        fmt::format("a {} is lost, and training goes on without it: {}", kind, loss);
    reporter_.warn(text);
    keep_note(text);
  }
  if (const auto choice = selector_->take_choice()) {
    for (const auto& note : choice->notes) say_and_keep(note);
    current_.options = keep_choice_(*choice);
    trial_seconds_ = step_seconds_;
  }
}

void Trainer::say_and_keep(const std::string& text) {
  reporter_.say(text);
  keep_note(text);
}

void Trainer::keep_note(const std::string& text) {
  reporter_.record({"note", position_.step, seconds(), {{"text", text}}});
  notes_.push_back(text);
}

bool Trainer::after_step(const StepReport& report) {
  for (const auto& cut : engine().take_cuts()) reporter_.warn(cut);
  const double now = step_clock();
  step_seconds_ += now - last_step_end_;
  rows_done_ += report.rows;
  rows_trained_ += report.rows;
  rows_recorded_ += report.rows;
  recorded_loss_ += report.loss * static_cast<double>(report.rows);
  if (rows_recorded_ >= record_rows_) {
    const double epoch =
        static_cast<double>(position_.epoch) +
        static_cast<double>(position_.next_row) / static_cast<double>(data_.row_count());
    reporter_.record({"step",
                      position_.step,
                      seconds(),
                      {{"epoch", epoch},
                       {"train_loss", recorded_loss_ / static_cast<double>(rows_recorded_)},
                       {"learning_rate", static_cast<double>(report.learning_rate)}}});
    rows_recorded_ = 0;
    recorded_loss_ = 0;
  }
  reporter_.update(display_state());
  tell_news();
  publish_status();
  const double minutes = options_.checkpoint_minutes;
  if (minutes > 0 && clock_.elapsed() - last_checkpoint_ >= 60 * minutes) checkpoint_due_ = true;
  last_step_end_ = step_clock();
  return interrupted() == 0 && !checkpoint_due_;
}

bool Trainer::finish_epoch() {
  const std::uint64_t epoch = position_.epoch + 1;
  train_loss_ = position_.loss_sum / static_cast<double>(data_.row_count());
  const bool last = epoch >= options_.epochs;
  const bool due = data_.evaluation && looks(epoch);
  if (due) {
    const Stopwatch watch;
    if (!evaluate_replica()) return false;
    eval_seconds_ = watch.elapsed();
    judge(epoch);
  }
  position_ = {position_.step, epoch, 0, 0};
  if (averages(epoch)) add_to_average();
  report_epoch(epoch, due);
  const bool save_now = options_.checkpoint_every > 0 && epoch % options_.checkpoint_every == 0;
  if (save_now && !last) save();
  return true;
}

bool Trainer::evaluate_replica() {
  const auto predictions = engine().evaluate([this](Replica& replica) {
    return predict_all(replica, *data_.evaluation, kEvaluationTop,
                       [this] { return interrupted() != 0; });
  });
  if (!predictions) return false;
  metrics_ = evaluate(*predictions, data_.evaluation->labels, data_.train.label_count,
                      data_.inverse_propensity);
  metrics_line_ = metrics_line(metrics_);
  metrics_epoch_ = position_.epoch + (position_.next_row > 0 ? 1 : 0);
  metrics_step_ = position_.step;
  if (!std::isfinite(metrics_.at("loss"))) throw DivergedError("the evaluation loss is not finite");
  if (metrics_.count(best_by_) == 0) {
    throw UsageError("--early-stop " + best_by_ +
                     ": this data has no such metric (accuracy needs one label a row, auc two "
                     "labels)");
  }
  return true;
}

void Trainer::judge(std::uint64_t epoch) {
  if (is_best(current_.progress, best_by_, metrics_.at(best_by_), epoch)) {
    save_parameters(directory_.best_model());
  }
}

void Trainer::add_to_average() {
  FloatBuffer parameters = engine().models().take(0);
  auto& state = current_.state;
  if (state.size() == optimizer_vectors_) state.emplace_back(parameters.size());
  FloatBuffer& sum = state.back();
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += parameters[i];
  engine().models().give(0, std::move(parameters));
}

void Trainer::use_average() {
  // An early stop ends inside the window, so the number of summands is counted, not configured.
  const std::uint64_t summands = position_.epoch + options_.average - options_.epochs;
  const float share = 1.0F / static_cast<float>(summands);
  const FloatBuffer& sum = current_.state.back();
  FloatBuffer parameters = engine().models().take(0);
  for (std::size_t i = 0; i < sum.size(); ++i) parameters[i] = sum[i] * share;
  engine().models().give(0, std::move(parameters));
}

void Trainer::take_over() {
  current_.kept = engine().models().keep();
  current_.model.parameters = engine().models().take(0);
  for (std::size_t i = 0; i < optimizer_vectors_; ++i) {
    current_.state[i] = engine().models().take(static_cast<int>(i) + 1);
  }
}

void Trainer::give_back() {
  engine().models().give(0, std::move(current_.model.parameters));
  for (std::size_t i = 0; i < optimizer_vectors_; ++i) {
    engine().models().give(static_cast<int>(i) + 1, std::move(current_.state[i]));
  }
}

void Trainer::save() {
  take_over();
  if (!all_finite(current_.model.parameters.span())) {
    throw DivergedError("a weight is not finite after step " + std::to_string(position_.step));
  }
  Progress& progress = current_.progress;
  progress.step = position_.step;
  progress.epoch = position_.epoch;
  progress.next_row = position_.next_row;
  progress.train_loss_sum = position_.loss_sum;
  progress.worker_steps = engine().steps();
  progress.seconds = seconds();
  save_checkpoint(current_, directory_.checkpoints(), static_cast<int>(options_.keep));
  current_.kept.clear();  // the workers have it
  give_back();
  last_checkpoint_ = clock_.elapsed();
}

void Trainer::save_parameters(const std::string& path) {
  current_.model.parameters = engine().models().take(0);
  save_model(current_.model, path);
  engine().models().give(0, std::move(current_.model.parameters));
}

TrainResult Trainer::complete(const std::string& ended) {
  save();
  const bool averaged = current_.state.size() > optimizer_vectors_;
  if (averaged) {
    use_average();
    metrics_step_.reset();
  }
  if (data_.evaluation && (averaged || metrics_.empty())) {
    if (!evaluate_replica()) return leave("signal", interrupted());
  }
  if (averaged && data_.evaluation) {
    reporter_.say("average of the last epochs  " + metrics_line_);
    judge(position_.epoch);
  }
  return leave(ended, 0);
}

TrainResult Trainer::interrupt(int signal) {
  save();
  return leave("signal", signal);
}

TrainResult Trainer::leave(const std::string& ended, int signal) {
  save_parameters(directory_.last_model());
  if (!selector_->decided()) {
    say_and_keep("the run ended before it was clear which devices are worth it");
  }
  TrainResult result;
  result.directory = directory_.path();
  result.ended = ended;
  result.signal = signal;
  result.progress = current_.progress;
  result.train_loss = train_loss_;
  result.samples_per_second = static_cast<double>(rows_done_) / std::max(step_seconds_, 1e-9);
  result.metrics = metrics_;
  result.metrics_epoch = metrics_epoch_;
  result.metrics_are_final = metrics_step_ == position_.step;
  result.best_by = best_by_;
  result.strategy = engine().strategy().text();
  result.virtual_time = engine().is_virtual();
  result.replica_distance = engine().distance();
  result.workers = worker_results(engine().timeline(), step_seconds_ - trial_seconds_);
  result.notes = notes_;
  write_trace();
  auto fields = metric_fields(metrics_);
  fields.insert(fields.begin(), {"ended", ended});
  fields.emplace_back("peak_memory_bytes", peak_memory());
  reporter_.record({"end", position_.step, seconds(), std::move(fields)});
  reporter_.flush();
  return result;
}

}  // namespace evener
