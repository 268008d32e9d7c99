// Writes a data set that was made into a directory, all or nothing.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "evener/core/error.h"
#include "evener/core/file.h"
#include "evener/data/make/make.h"
#include "evener/data/names.h"
#include "evener/data/read.h"
#include "evener/data/statistics.h"

namespace evener {

namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 7> kFiles = {"README.txt",    "train.txt",    "test.txt",
                                               "labels.txt",    "features.txt", "train.names.txt",
                                               "test.names.txt"};
constexpr int kReadmeWidth = 80;

// Without a trailing slash, which would make the last component empty.
fs::path target_path(const std::string& directory) {
  fs::path path = fs::path(directory).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  if (path.empty() || path == "." || path == ".." || !path.has_filename()) {
    throw UsageError("'" + directory + "' cannot be the directory of a new data set");
  }
  return path;
}

bool is_ours(const fs::path& file) {
  return std::find(kFiles.begin(), kFiles.end(), file.filename().string()) != kFiles.end();
}

// The replaced directory is removed, so it must be a data set and contain nothing else.
void check_replaceable(const fs::path& target) {
  for (const auto& entry : fs::directory_iterator(target)) {
    if (is_ours(entry.path()) && !entry.is_directory()) continue;
    throw UsageError(entry.path().string() + " is not part of a data set: " + target.string() +
                     " is not replaced; remove it or choose another directory");
  }
}

std::string reason(const std::error_code& code) {
  return code.message();
}

// A directory beside the target; it is removed unless it replaces the target.
class Draft {
 public:
  explicit Draft(const fs::path& target) : target_(target) {
    std::error_code code;
    if (target.has_parent_path()) fs::create_directories(target.parent_path(), code);
    if (code) throw Error(target.string() + ": cannot create: " + reason(code));
    for (int attempt = 0; attempt < 1000; ++attempt) {
      path_ = target.string() + fmt::format(".tmp{}.{}", getpid(), attempt);
      if (fs::create_directory(path_, code)) return;
      if (code) break;
    }
    path_.clear();
    throw Error(target.string() + ": cannot create a directory beside it: " + reason(code));
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }

  std::string file(const char* name) const { return (path_ / name).string(); }

  // A plain rename can only replace an empty directory. A full one is swapped with the draft in one
  // step and then removed under the draft's name.
  void publish() {
    if (rename(path_.c_str(), target_.c_str()) == 0) {
      path_.clear();
      return;
    }
    if (errno != ENOTEMPTY && errno != EEXIST) fail();
    if (renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) != 0) {
      fail();
    }
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(target_.string() + ": cannot put the new data set there: " + std::strerror(errno));
  }

  fs::path target_;
  fs::path path_;
};

std::string readme(const MadeData& data) {
  std::string text = fmt::format(
      "{}: a data set made by `evener dataset {}`\n\n{}\n"
      "train.txt, test.txt: a header `rows features labels`, then a row a line:\n"
      "labels (comma-separated) and feature:value pairs, both numbered from 0.\n"
      "labels.txt, features.txt: line i (from 0) names label or feature i.\n"
      "train.names.txt, test.names.txt: line i names row i.\n",
      data.name, data.name, data.description);
  const auto add = [&](const char* title, const Dataset& part) {
    text += fmt::format("\n{}\n\n{}", title, describe(statistics_of(part), true, kReadmeWidth));
  };
  add("Training rows", data.train);
  if (data.test.rows() > 0) add("Test rows", data.test);
  return text;
}

}  // namespace

void check_target(const std::string& directory, bool force) {
  const fs::path target = target_path(directory);
  std::error_code code;
  const fs::file_status status = fs::symlink_status(target, code);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status)) {
    throw UsageError(target.string() + " exists and is not a directory");
  }
  if (!force) throw UsageError(target.string() + " exists already (--force replaces it)");
  check_replaceable(target);
}

void write_made(const MadeData& data, const std::string& directory, bool force) {
  check_target(directory, force);
  Draft draft(target_path(directory));
  write_multilabel(data.train, draft.file("train.txt"));
  // A file without rows could not be read.
  if (data.test.rows() > 0) write_multilabel(data.test, draft.file("test.txt"));
  const auto write_if_any = [&](const std::vector<std::string>& names, const char* file) {
    if (!names.empty()) write_names(names, draft.file(file));
  };
  write_if_any(data.train.label_names, "labels.txt");
  write_if_any(data.features, "features.txt");
  write_if_any(data.train_names, "train.names.txt");
  write_if_any(data.test_names, "test.names.txt");
  const std::string text = readme(data);
  write_atomically(draft.file("README.txt"), std::as_bytes(std::span(text)));
  draft.publish();
}

}  // namespace evener
