// The directory of one training run: its files, and a lock for the one process that trains into it.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>

namespace evener {

/// `runs/NAME-YYYYmmdd-HHMMSS` in local time; characters that are unsuitable in file names become
/// '-'.
std::string default_run_directory(const std::string& name, std::time_t now);

/// Whether it holds a run that ended before its first step: a new run may replace it.
bool never_trained(const std::string& path);

/// Creates the directory, or the first of PATH-2, PATH-3, ... that does not exist, and returns its
/// path. Concurrent callers get different directories.
std::string make_free_directory(const std::string& path);

/// Holds an exclusive lock on the directory during its lifetime. The operating system releases the
/// lock if the process dies.
class RunDirectory {
 public:
  /// create: creates the directory; UsageError if it holds anything but a run that never trained,
  /// which is removed.
  /// resume: the directory must exist; temporary files of a killed run are removed.
  /// Both: Error if another process is training into it; the message has its process id.
  enum class Open { create, resume };
  RunDirectory(const std::string& path, Open open);
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;
  ~RunDirectory();

  /// Whether another process has removed or renamed the directory since it was opened.
  bool is_removed() const;
  /// Error if it is removed. Called before a file is written, so that no part of it appears again.
  void check_present() const;

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
  std::uint64_t device_ = 0, inode_ = 0;  // identify the directory
};

}  // namespace evener
