#include "evener/run/report/reporter.h"

#include <chrono>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/core/printable.h"
#include "evener/run/artifacts/metrics_file.h"

namespace evener {

Reporter::Reporter(const ReporterOptions& options) : options_(options) {
  if (options.stream != nullptr) {
    bar_ = std::make_unique<ProgressBar>(options.stream, options.display);
  }
}

void Reporter::open(const RunDirectory& directory, const Progress* resumed) {
  log_ = std::make_unique<AppendFile>(directory.log());
  std::optional<std::uint64_t> first_step;
  if (resumed != nullptr) {
    first_step = resumed->step + 1;
    try {
      drop_later_records(directory.metrics(), *resumed);
    } catch (const Error& error) {
      warn(fmt::format("records after step {} stay and will occur twice: {}", resumed->step,
                       error.what()));
    }
  }
  sinks_.push_back(make_jsonl_sink(directory.metrics()));
  sinks_.push_back(make_tensorboard_sink(directory.tensorboard(), first_step));
  pass_warnings_on();
}

void Reporter::update(const ProgressState& state) {
  if (bar_ && options_.progress) bar_->update(state);
}

void Reporter::say(const std::string& line) {
  if (bar_ && options_.progress) bar_->print(line);
  note(line);
}

void Reporter::warn(const std::string& text) {
  if (bar_) bar_->print("evener: warning: " + text);
  note("warning: " + text);
}

void Reporter::record(const Record& record) {
  for (const auto& sink : sinks_) sink->write(record);
  pass_warnings_on();
}

void Reporter::flush() {
  for (const auto& sink : sinks_) sink->flush();
  pass_warnings_on();
}

void Reporter::note(const std::string& line) {
  if (!log_) return;
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  log_->append(fmt::format("{:%Y-%m-%dT%H:%M:%SZ} {}\n", fmt::gmtime(now), printable(line)));
}

void Reporter::pass_warnings_on() {
  for (const auto& sink : sinks_) {
    if (const std::string text = sink->take_warning(); !text.empty()) warn(text);
  }
  if (!log_) return;
  // Not through `warn`, which writes to the file that failed.
  if (const std::string text = log_->take_warning(); !text.empty() && bar_) {
    bar_->print("evener: warning: " + text);
  }
}

std::vector<LogField> metric_fields(const Metrics& metrics) {
  std::vector<LogField> fields;
  for (const auto& [name, value] : metrics) fields.emplace_back(name, value);
  return fields;
}

}  // namespace evener
