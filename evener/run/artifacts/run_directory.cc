#include "evener/run/artifacts/run_directory.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "evener/core/error.h"
#include "evener/run/artifacts/run_info.h"

namespace evener {

namespace {

namespace fs = std::filesystem;

constexpr const char* kLockFile = ".lock";

[[noreturn]] void fail(const std::string& path, const char* what, int error) {
  throw Error(path + ": " + what + ": " + std::strerror(error));
}

/// The names in a directory, without the lock file.
std::vector<fs::path> contents(const std::string& path) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename() != kLockFile) found.push_back(it->path());
  }
  if (error) fail(path, "cannot list", error.value());
  return found;
}

/// A leftover of AtomicFile whose process was killed: NAME.tmpPID.N. This process holds the lock,
/// so no other process writes such files.
void remove_temporaries(const std::string& path) {
  std::error_code ignored;
  for (const fs::path& file : contents(path)) {
    const std::string extension = file.stem().extension().string();
    if (extension.compare(0, 4, ".tmp") == 0) fs::remove(file, ignored);
  }
}

// Files that a run writes before its first step.
const std::set<std::string> kEarlyFiles{"config.toml", "log.txt", "metrics.jsonl", "tensorboard"};

/// A pipe or a device is not a run's, whatever its name.
bool is_early_file(const fs::path& file) {
  std::error_code unknown;
  return kEarlyFiles.count(file.filename().string()) > 0 &&
         (fs::is_regular_file(file, unknown) || fs::is_directory(file, unknown));
}

void remove_never_trained(const std::string& path) {
  if (!never_trained(path)) return;
  std::error_code ignored;  // `refuse_used` reports files that remain
  for (const fs::path& file : contents(path)) fs::remove_all(file, ignored);
}

void refuse_used(const std::string& path) {
  if (contents(path).empty()) return;
  throw UsageError(path + ": exists and is not empty; choose another directory, or resume it");
}

}  // namespace

std::string default_run_directory(const std::string& name, std::time_t now) {
  std::string clean;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool safe = byte >= 0x80 || std::isalnum(byte) != 0 || c == '.' || c == '_' || c == '-';
    clean += safe ? c : '-';
  }
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 32> stamp{};
  std::strftime(stamp.data(), stamp.size(), "%Y%m%d-%H%M%S", &local);
  return fmt::format("runs/{}-{}", clean, stamp.data());
}

bool never_trained(const std::string& path) {
  std::error_code error;
  // Without the lock file it is not a run directory.
  if (!fs::exists(path + "/" + kLockFile, error)) return false;
  const auto files = contents(path);
  const bool early = std::all_of(files.begin(), files.end(), is_early_file);
  const auto records = last_records(path + "/metrics.jsonl");
  return early && std::all_of(records.begin(), records.end(),
                              [](const auto& record) { return record.first == "note"; });
}

std::string make_free_directory(const std::string& path) {
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  for (int number = 1; !error; ++number) {
    std::string name = number == 1 ? path : fmt::format("{}-{}", path, number);
    if (fs::create_directory(name, error)) return name;
    // A file with this name exists: try the next name.
    if (error == std::errc::file_exists) error.clear();
  }
  fail(path, "cannot create", error.value());
}

RunDirectory::RunDirectory(const std::string& path, Open open) : path_(path) {
  std::error_code error;
  if (open == Open::resume) {
    if (!fs::is_directory(path, error)) throw UsageError(path + ": there is no run to resume");
  } else {
    if (fs::exists(path, error) && !fs::is_directory(path, error)) {
      throw UsageError(path + ": exists and is not a directory; choose another one");
    }
    fs::create_directories(path, error);
    if (error) fail(path, "cannot create", error.value());
    // Does not write a lock file into a directory that is not a run directory. If it is locked,
    // `lock` reports that with a better message.
    if (!fs::exists(path + "/" + kLockFile, error)) refuse_used(path);
  }
  lock();
  try {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) fail(path, "cannot read", errno);
    device_ = status.st_dev;
    inode_ = status.st_ino;
    if (open == Open::resume) {
      remove_temporaries(path);
    } else {
      remove_never_trained(path);
      refuse_used(path);
    }
  } catch (...) {
    close(lock_);
    throw;
  }
}

RunDirectory::~RunDirectory() {
  close(lock_);
}

bool RunDirectory::is_removed() const {
  struct stat status {};
  if (stat(path_.c_str(), &status) != 0) return errno == ENOENT || errno == ENOTDIR;
  return status.st_dev != device_ || status.st_ino != inode_;
}

void RunDirectory::check_present() const {
  if (!is_removed()) return;
  throw SaveError(path_ + ": the run directory was removed while the run was writing to it");
}

// The lock file stays: removing it would let a third process lock a new one beside the second's.
void RunDirectory::lock() {
  const std::string file = path_ + "/" + kLockFile;
  lock_ = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) fail(file, "cannot open", errno);
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    std::array<char, 32> holder{};
    const ssize_t read = pread(lock_, holder.data(), holder.size() - 1, 0);
    close(lock_);
    if (error != EWOULDBLOCK) fail(file, "cannot lock", error);
    throw Error(fmt::format("{}: process {} is training into it", path_,
                            read > 0 ? holder.data() : "(starting)"));
  }
  // Only for the message above; if the write fails (disk full), the lock still holds.
  const std::string pid = std::to_string(getpid());
  [[maybe_unused]] const bool written =
      ftruncate(lock_, 0) == 0 && pwrite(lock_, pid.data(), pid.size(), 0) > 0;
}

}  // namespace evener
