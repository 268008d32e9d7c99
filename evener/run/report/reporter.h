// The output of a run while it trains: progress display, log and measurement sinks.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "evener/nn/metrics.h"
#include "evener/run/artifacts/append_file.h"
#include "evener/run/artifacts/checkpoint.h"
#include "evener/run/artifacts/run_directory.h"
#include "evener/run/report/progress_bar.h"
#include "evener/run/report/sinks.h"

namespace evener {

struct ReporterOptions {
  std::FILE* stream = nullptr;  // progress and messages; null: none
  bool progress = true;         // false: warnings only
  DisplayOptions display;
};

class Reporter {
 public:
  explicit Reporter(const ReporterOptions& options);

  /// After this call, messages also go to log.txt, and records to metrics.jsonl and TensorBoard
  /// events, all in the run directory.
  /// `resumed`: the progress of the checkpoint that the run goes on from; null for a new run.
  void open(const RunDirectory& directory, const Progress* resumed = nullptr);

  void update(const ProgressState& state);
  /// A line for the user.
  void say(const std::string& line);
  void warn(const std::string& text);
  /// A line for the log only.
  void note(const std::string& line);
  void record(const Record& record);
  void flush();

 private:
  void pass_warnings_on();

  ReporterOptions options_;
  std::unique_ptr<ProgressBar> bar_;
  std::unique_ptr<AppendFile> log_;
  std::vector<std::unique_ptr<Sink>> sinks_;
};

/// A record's fields for metrics: their names and values.
std::vector<LogField> metric_fields(const Metrics& metrics);

}  // namespace evener
