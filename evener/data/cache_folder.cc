#include "evener/data/cache_folder.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <tuple>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "evener/core/error.h"

namespace evener {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".evdata";
constexpr std::string_view kTemporary = ".tmp";
constexpr std::size_t kKeyDigits = 16;
constexpr std::size_t kLongestStem = 100;
constexpr std::uint64_t kMostBytes = 20'000'000'000;

bool consists_of(std::string_view text, std::string_view allowed) {
  return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

/// NAME of NAME-KEY.evdata.
std::optional<std::string> source_in(std::string_view name) {
  const std::size_t rest = 1 + kKeyDigits + kEnding.size();
  if (name.size() <= rest || !name.ends_with(kEnding)) return std::nullopt;
  const std::string_view end = name.substr(name.size() - rest);
  if (end[0] != '-' || !consists_of(end.substr(1, kKeyDigits), "0123456789abcdef")) {
    return std::nullopt;
  }
  return std::string(name.substr(0, name.size() - rest));
}

/// PID of NAME-KEY.evdata.tmpPID.N, as AtomicFile names its files.
std::optional<pid_t> writer_in(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t begin = name.rfind(kTemporary);
  if (begin == std::string_view::npos || !source_in(name.substr(0, begin))) return std::nullopt;
  const std::string_view numbers = name.substr(begin + kTemporary.size());
  const std::size_t dot = std::min(numbers.find('.'), numbers.size());
  const std::string_view writer = numbers.substr(0, dot);
  if (!consists_of(writer, kDigits) || dot == numbers.size() ||
      !consists_of(numbers.substr(dot + 1), kDigits)) {
    return std::nullopt;
  }
  pid_t pid = 0;
  const auto end = std::from_chars(writer.data(), writer.data() + writer.size(), pid);
  return end.ec == std::errc() && pid > 0 ? std::optional(pid) : std::nullopt;
}

bool is_running(pid_t pid) {
  return pid == getpid() || kill(pid, 0) == 0 || errno != ESRCH;
}

/// Whether another process may hold the lock that a writer keeps on its file.
bool is_locked(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return true;  // not known: the file stays
  const bool locked = flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(file);
  return locked;
}

/// Calls `visit` for all regular files of the directory whose name is wanted; links are not
/// followed.
void for_each_file(const std::string& directory,
                   const std::function<bool(const std::string& name)>& is_wanted,
                   const std::function<void(const fs::path&, const struct stat&)>& visit) {
  std::error_code problem;
  fs::directory_iterator files(directory, problem);
  if (problem == std::errc::no_such_file_or_directory) return;
  for (; !problem && files != fs::directory_iterator(); files.increment(problem)) {
    if (!is_wanted(files->path().filename())) continue;
    struct stat status {};
    const bool known = lstat(files->path().c_str(), &status) == 0;  // it may be removed meanwhile
    if (known && S_ISREG(status.st_mode)) visit(files->path(), status);
  }
  if (problem) throw Error(directory + ": cannot read: " + problem.message());
}

std::uint64_t size_of(const struct stat& status) {
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace

std::string cache_entry_path(const std::string& directory, const std::string& source,
                             std::uint64_t key) {
  const std::string stem = fs::path(source).filename().string().substr(0, kLongestStem);
  return fs::path(directory) / fmt::format("{}-{:016x}{}", stem, key, kEnding);
}

std::vector<CacheEntry> cache_entries(const std::string& directory) {
  std::vector<CacheEntry> entries;
  const auto is_entry = [](const std::string& name) { return source_in(name).has_value(); };
  for_each_file(directory, is_entry, [&](const fs::path& path, const struct stat& status) {
    entries.push_back(
        {path, source_in(path.filename().string()).value(), size_of(status), status.st_mtim});
  });
  // The path decides between equal times, so that the order is always the same.
  std::sort(entries.begin(), entries.end(), [](const CacheEntry& a, const CacheEntry& b) {
    return std::tie(b.last_use.tv_sec, b.last_use.tv_nsec, b.path) <
           std::tie(a.last_use.tv_sec, a.last_use.tv_nsec, a.path);
  });
  return entries;
}

std::uint64_t cache_limit(const CacheOptions& cache) {
  if (cache.limit) return *cache.limit;
  struct statvfs disk {};
  if (statvfs(cache.directory.c_str(), &disk) != 0) return kMostBytes;
  return std::min<std::uint64_t>(kMostBytes, disk.f_frsize * (disk.f_blocks / 10));
}

void mark_cache_use(const std::string& entry) {
  const timespec now[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
  if (utimensat(AT_FDCWD, entry.c_str(), now, 0) != 0) return;  // only the order of removal suffers
}

CacheRemoval remove_cache_leftovers(const std::string& directory) {
  CacheRemoval removed;
  const auto is_leftover = [](const std::string& name) {
    const auto writer = writer_in(name);
    return writer && !is_running(*writer);
  };
  for_each_file(directory, is_leftover, [&](const fs::path& path, const struct stat& status) {
    if (is_locked(path)) return;
    if (unlink(path.c_str()) != 0) return;
    ++removed.leftovers;
    removed.bytes += size_of(status);
  });
  return removed;
}

CacheRemoval bound_cache(const std::string& directory, std::uint64_t limit,
                         const std::string& keep) {
  const std::string kept = fs::path(keep).filename();
  std::vector<CacheEntry> entries = cache_entries(directory);
  std::uint64_t total = 0;
  for (const auto& entry : entries) total += entry.bytes;
  CacheRemoval removed;
  for (; total > limit && !entries.empty(); entries.pop_back()) {
    const CacheEntry& oldest = entries.back();
    if (fs::path(oldest.path).filename() == kept || unlink(oldest.path.c_str()) != 0) continue;
    total -= oldest.bytes;
    ++removed.entries;
    removed.bytes += oldest.bytes;
  }
  return removed;
}

CacheRemoval clean_cache(const std::string& directory) {
  CacheRemoval removed = remove_cache_leftovers(directory);
  for (const auto& entry : cache_entries(directory)) {
    if (unlink(entry.path.c_str()) != 0) {
      if (errno == ENOENT) continue;  // another process was faster
      throw Error(
          fmt::format("{}: cannot remove: {}", entry.path, std::generic_category().message(errno)));
    }
    ++removed.entries;
    removed.bytes += entry.bytes;
  }
  return removed;
}

}  // namespace evener
