#include "evener/data/cache.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "evener/core/error.h"
#include "evener/core/file.h"
#include "evener/data/cache_file.h"
#include "evener/data/cache_folder.h"
#include "evener/data/parse.h"
#include "evener/data/sidecar_files.h"

namespace evener {

namespace {

namespace fs = std::filesystem;

/// Joins the parts of a key; lengths keep ("ab", "c") and ("a", "bc") apart.
class Key {
 public:
  void add(std::string_view part) { text_ += fmt::format("{}:{};", part.size(), part); }
  void add(std::uint64_t number) { text_ += fmt::format("{};", number); }
  std::uint64_t hash() const { return XXH3_64bits(text_.data(), text_.size()); }

 private:
  std::string text_;
};

/// The key of an entry: the source and the read options. The thread count is not part of it,
/// because it does not change the result.
std::uint64_t key_of(const std::string& path, const ReadOptions& read, const Transform* transform) {
  Key key;
  key.add(path);
  key.add(to_string(read.format));
  key.add(to_string(read.text_format));
  key.add(read.feature_count);
  key.add(read.label_count);
  for (const auto& name : read.label_names) key.add(name);
  if (transform != nullptr && !transform->identity()) {
    key.add(transform->options.hash_features);
    key.add(transform->options.tfidf ? 1 : 0);
    key.add(transform->options.normalise ? 1 : 0);
    key.add(XXH3_64bits(transform->idf.data(), transform->idf.size() * sizeof(float)));
  }
  return key.hash();
}

/// Adds a hash of the first, the middle and the last part of a file, or of all of a small one.
void add_sample(const std::string& path, Key& key) {
  constexpr std::size_t kPart = 65'536;
  const MappedFile file(path);
  const auto bytes = file.bytes();
  const std::size_t part = std::min(kPart, bytes.size());
  for (const std::size_t begin : {std::size_t{0}, (bytes.size() - part) / 2, bytes.size() - part}) {
    key.add(XXH3_64bits(bytes.data() + begin, part));
  }
  file.check();
}

/// A fingerprint of the sources when an entry is made; it changes whenever one of them changes. The
/// size and the time of the last modification can be those of the old file, if a program restores
/// them; the time of the last change of the inode cannot, but it is only as exact as the clock of
/// the file system, so a sample of the contents is added.
std::uint64_t stamp_of(const std::string& path, std::uint64_t key_hash) {
  Key key;
  key.add(key_hash);
  auto files = companions_of(path);
  files.push_back(path);
  for (const auto& file : files) {
    struct stat status {};
    if (stat(file.c_str(), &status) != 0) continue;
    key.add(file);
    key.add(static_cast<std::uint64_t>(status.st_size));
    key.add(static_cast<std::uint64_t>(status.st_mtim.tv_sec));
    key.add(static_cast<std::uint64_t>(status.st_mtim.tv_nsec));
    key.add(static_cast<std::uint64_t>(status.st_ino));
    key.add(static_cast<std::uint64_t>(status.st_ctim.tv_sec));
    key.add(static_cast<std::uint64_t>(status.st_ctim.tv_nsec));
    try {
      if (S_ISREG(status.st_mode)) add_sample(file, key);
    } catch (const Error&) {  // it cannot be read, which its reader says
      key.add("?");
    }
  }
  return key.hash();
}

void add_warning(std::string* warning, const std::string& text) {
  if (warning == nullptr) return;
  if (!warning->empty()) *warning += "; ";
  *warning += text;
}

/// The entry, if it exists, is undamaged and was made from the current sources.
std::optional<Dataset> open_entry(const std::string& path, std::uint64_t stamp,
                                  std::string* warning) {
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  bool wrong_version = false;
  try {
    auto file = std::make_shared<MappedFile>(path);
    const auto bytes = file->bytes();
    if (checked_cache_header(bytes, path, &wrong_version).stamp != stamp) return std::nullopt;
    return parse_cache(bytes, path, std::move(file));
  } catch (const Error& damage) {
    if (!wrong_version) {
      add_warning(warning, std::string(damage.what()) + "; the source is read again");
    }
    return std::nullopt;
  }
}

Dataset read_and_transform(const std::string& path, const ReadOptions& read,
                           const Transform* transform) {
  Dataset data = read_dataset(path, read);
  if (transform == nullptr) return data;
  return apply_transform(data, *transform, read.threads);
}

}  // namespace

Dataset open_dataset(const std::string& path, const ReadOptions& read, const Transform* transform,
                     const CacheOptions& cache, std::string* warning) {
  if (warning != nullptr) warning->clear();
  const bool raw = transform == nullptr || transform->identity();
  if (raw && read.format == Format::automatic && is_cache(path)) {
    return fit_to_options(open_cache(path), path, read);
  }
  if (cache.directory.empty()) return read_and_transform(path, read, transform);

  // Different relative paths to one file give the same entry.
  const std::string source = fs::absolute(path).lexically_normal();
  const std::uint64_t key = key_of(source, read, transform);
  // Computed before reading: if a source changes during the read, the entry is stale at once.
  const std::uint64_t stamp = stamp_of(source, key);
  const std::string entry = cache_entry_path(cache.directory, path, key);
  try {
    remove_cache_leftovers(cache.directory);  // first: they may fill the disk
  } catch (const Error&) {  // what is wrong with the directory is said when an entry is written
  }
  if (auto data = open_entry(entry, stamp, warning)) {
    mark_cache_use(entry);
    return *std::move(data);
  }
  Dataset data = read_and_transform(path, read, transform);
  try {
    fs::create_directories(cache.directory);
    write_cache_file(data, entry, stamp);
    bound_cache(cache.directory, cache_limit(cache), entry);
  } catch (const std::runtime_error& error) {
    add_warning(warning, fmt::format("the data cache is not used: {}", error.what()));
    return data;
  }
  // Map the entry as later runs do: the pages can be dropped and read again when needed.
  if (auto mapped = open_entry(entry, stamp, nullptr)) return *std::move(mapped);
  return data;
}

void write_cache(const Dataset& data, const std::string& path) {
  write_cache_file(data, path, 0);
}

Dataset open_cache(const std::string& path) {
  auto file = std::make_shared<MappedFile>(path);
  const auto bytes = file->bytes();
  return parse_cache(bytes, path, std::move(file));
}

bool is_cache(const std::string& path) {
  try {
    return begins_as_cache(MappedFile(path).bytes());
  } catch (const Error&) {
    return false;
  }
}

}  // namespace evener
