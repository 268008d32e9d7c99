// The directory of one training run: its files, and a lock so that only one process trains into
// it.
#pragma once

#include <ctime>
#include <string>

namespace evener {

/// `runs/NAME-YYYYmmdd-HHMMSS` in local time; characters that make poor file names become '-'.
std::string default_run_directory(const std::string& name, std::time_t now);

/// Whether it is a run that ended before anything was trained: a new one may take its place.
bool never_trained(const std::string& path);

/// Makes the directory, or where it exists the first of PATH-2, PATH-3, ... that does not; returns
/// its path. Processes that call it at the same time each get their own.
std::string make_free_directory(const std::string& path);

/// Holds an exclusive lock on the directory as long as it lives; the system drops the lock of a
/// process that dies, however it dies.
class RunDirectory {
 public:
  /// fresh: creates the directory; UsageError if it holds anything but a run that never trained,
  /// which is removed.
  /// resume: the directory must exist; temporary files of a killed run are removed.
  /// Either: Error naming the process that is training into it, if there is one.
  enum class Open { fresh, resume };
  RunDirectory(const std::string& path, Open open);
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;
  ~RunDirectory();

  const std::string& path() const { return path_; }
  std::string config() const { return path_ + "/config.toml"; }
  std::string metrics() const { return path_ + "/metrics.jsonl"; }
  std::string log() const { return path_ + "/log.txt"; }
  std::string trace() const { return path_ + "/trace.json"; }
  std::string report() const { return path_ + "/report.html"; }
  std::string checkpoints() const { return path_ + "/checkpoints"; }
  std::string tensorboard() const { return path_ + "/tensorboard"; }
  std::string best_model() const { return path_ + "/best.safetensors"; }
  std::string last_model() const { return path_ + "/last.safetensors"; }

 private:
  void lock();

  std::string path_;
  int lock_ = -1;
};

}  // namespace evener
