#include "evener/run/session/progress_report.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <sys/resource.h>

#include "evener/core/counted.h"
#include "evener/core/file.h"
#include "evener/run/report/epoch_line.h"
#include "evener/run/report/metric_text.h"

namespace evener {

namespace {

constexpr std::size_t kStepRecordsPerEpoch = 20;

std::int64_t count(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}

/// Peak memory of the process, by the operating system's count.
std::int64_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace

ProgressReport::ProgressReport(const TrainOptions& options, const TrainingData& data,
                               Backend& backend, Reporter& reporter, double seconds_before)
    : options_(options),
      data_(data),
      backend_(backend),
      reporter_(reporter),
      seconds_before_(seconds_before),
      record_rows_(std::max<std::uint64_t>(1, data.row_count() / kStepRecordsPerEpoch)) {}

void ProgressReport::say_start(const Network& network) {
  step_seconds_ += backend_.preparation_seconds();
  reporter_.say(fmt::format(
      "{} ({}, {}, {}, {})", backend_.description(), counted(data_.row_count(), "row"),
      counted(data_.train.feature_count, "feature"), counted(data_.train.label_count, "label"),
      counted(layout_of(network).parameters(), "parameter")));
  if (const std::string hint = backend_.hint(); !hint.empty()) reporter_.say(hint);
}

void ProgressReport::begin_part() {
  last_step_end_ = step_clock();
  // The epoch that the preparation precedes has its time.
  if (backend_.position().next_row == 0 && rows_done_ > 0) epoch_begin_seconds_ = step_seconds_;
}

void ProgressReport::step(const StepReport& report) {
  const double now = step_clock();
  step_seconds_ += now - std::exchange(last_step_end_, now);
  rows_done_ += report.rows;
  rows_recorded_ += report.rows;
  recorded_loss_ += report.loss * static_cast<double>(report.rows);
  if (rows_recorded_ >= record_rows_) {
    const Position position = backend_.position();
    const double epoch = static_cast<double>(position.epoch) + epoch_share(position);
    reporter_.record({"step",
                      position.step,
                      seconds(),
                      {{"epoch", epoch},
                       {"train_loss", recorded_loss_ / static_cast<double>(rows_recorded_)},
                       {"learning_rate", static_cast<double>(report.learning_rate)}}});
    rows_recorded_ = 0;
    recorded_loss_ = 0;
  }
  reporter_.update(display_state());
}

void ProgressReport::report(const BackendNews& news) {
  for (const auto& warning : news.warnings) reporter_.warn(warning);
  for (const auto& note : news.notes) say_and_keep(note);
  const char* kind = backend_.kind() == RunKind::cluster ? "worker" : "device";
  for (const auto& why : news.lost_workers) {
    warn_and_keep(fmt::format("a {} is lost, and training goes on without it: {}", kind, why));
  }
  if (news.resolved_auto) trial_seconds_ = step_seconds_ - (backend_.now() - news.resolved_at);
}

void ProgressReport::say_and_keep(const std::string& text) {
  reporter_.say(text);
  keep_note(text);
}

void ProgressReport::warn_and_keep(const std::string& text) {
  reporter_.warn(text);
  keep_note(text);
}

void ProgressReport::keep_note(const std::string& text) {
  reporter_.record({"note", backend_.position().step, seconds(), {{"text", text}}});
  notes_.push_back(text);
}

void ProgressReport::end_epoch(bool whole, const Metrics* metrics, double eval_seconds) {
  train_loss_ = backend_.loss();
  const double rate = samples_per_second();
  const Position position = backend_.position();
  const std::uint64_t step = position.step;
  EpochLine line{position.epoch + 1, options_.epochs, train_loss_, metrics};
  line.part = whole ? 1 : epoch_share(position);
  line.has_test = !options_.test.empty();
  line.samples_per_second = rate;
  line.seconds = options_.seconds > 0 ? position.seconds : seconds();
  line.total_seconds = options_.seconds;
  reporter_.say(text_of(line));
  const LogField epoch{"epoch", whole ? LogValue(count(position.epoch + 1))
                                      : LogValue(static_cast<double>(position.epoch) + line.part)};
  std::vector<LogField> fields{epoch,
                               {"train_loss", train_loss_},
                               {"train_seconds", step_seconds_ - epoch_begin_seconds_},
                               {"samples_per_second", rate}};
  const BackendReport report = backend_.report(step_seconds());
  if (report.communication.bytes > 0) {
    fields.emplace_back("bytes", count(report.communication.bytes));
  }
  if (!report.exchanges_name.empty()) {
    fields.emplace_back(report.exchanges_name, count(report.communication.exchanges));
  }
  if (report.replica_distance) fields.emplace_back("replica_distance", *report.replica_distance);
  reporter_.record({"epoch", step, seconds(), std::move(fields)});
  if (metrics != nullptr) {
    auto values = metric_fields(*metrics);
    values.insert(values.begin(), epoch);
    values.emplace_back("eval_seconds", eval_seconds);
    reporter_.record({"eval", step, seconds(), std::move(values)});
  }
  record_workers(report);
  reporter_.flush();
}

void ProgressReport::show_metrics(const Metrics& metrics) {
  metrics_line_ = metrics_line(metrics);
}

/// Records the work of each worker in this session so far.
void ProgressReport::record_workers(const BackendReport& report) {
  if (report.workers.size() < 2 || !report.knows_all_workers || !backend_.has_resolved_auto()) {
    return;
  }
  for (const auto& worker : report.workers) {
    if (!worker.joined) continue;
    reporter_.record({"worker",
                      backend_.position().step,
                      seconds(),
                      {{"updates", count(worker.updates)},
                       {"rows", count(worker.rows)},
                       {"batch", count(worker.batch)},
                       {"compute_share", worker.compute},
                       {"transfer_share", worker.transfer},
                       {"waiting_share", std::max(0.0, 1 - worker.compute - worker.transfer)},
                       {"mean_staleness", worker.staleness},
                       {"bytes", count(worker.bytes)},
                       {"rejected", count(worker.rejected)},
                       {"exchanges", count(worker.exchanges)}},
                      worker.name});
  }
}

void ProgressReport::end(TrainResult& result, const RunDirectory* directory) {
  const BackendSummary summary = backend_.summary();
  for (const auto& note : summary.notes) say_and_keep(note);
  const BackendReport report = backend_.report(step_seconds());
  result.train_loss = train_loss_;
  result.samples_per_second = samples_per_second();
  result.preparation_seconds = backend_.preparation_seconds();
  result.step_seconds = step_seconds_ - result.preparation_seconds;
  result.strategy = report.strategy;
  result.replica_distance = report.replica_distance;
  result.workers = report.workers;
  result.notes = notes_;
  if (directory != nullptr) {
    directory->check_present();
    const std::string trace = report.timeline->trace_json();  // for Perfetto
    write_atomically(directory->trace(), std::as_bytes(std::span(trace)));
  }
  auto fields = metric_fields(result.metrics);
  fields.insert(fields.begin(), {"ended", result.ended});
  fields.insert(fields.end(), summary.fields.begin(), summary.fields.end());
  fields.emplace_back("peak_memory_bytes", peak_memory());
  reporter_.record({"end", backend_.position().step, seconds(), std::move(fields)});
  reporter_.flush();
}

void ProgressReport::record_failure(const std::string& why) {
  reporter_.record(
      {"end", backend_.position().step, seconds(), {{"ended", "failed"}, {"why", why}}});
  reporter_.flush();
}

double ProgressReport::epoch_share(const Position& position) const {
  return static_cast<double>(position.next_row) / static_cast<double>(data_.row_count());
}

double ProgressReport::samples_per_second() const {
  return static_cast<double>(rows_done_) /
         std::max(step_seconds_ - backend_.preparation_seconds(), 1e-9);
}

ProgressState ProgressReport::display_state() const {
  const Position position = backend_.position();
  ProgressState state;
  state.epoch = position.epoch + 1;
  state.epoch_share = epoch_share(position);
  state.seconds = seconds();
  if (options_.seconds > 0) {
    state.training_seconds = position.seconds;
    state.total_seconds = options_.seconds;
    state.total_share = position.seconds / options_.seconds;
  } else {
    state.epochs = options_.epochs;
    state.total_share = (static_cast<double>(position.epoch) + state.epoch_share) /
                        static_cast<double>(options_.epochs);
  }
  state.samples_per_second = samples_per_second();
  state.loss = backend_.loss();
  state.metrics = metrics_line_;
  return state;
}

}  // namespace evener
