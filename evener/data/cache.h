// The binary cache: the memory image of a data set, which later runs map instead of reading text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "evener/data/read.h"
#include "evener/data/transform.h"

namespace evener {

struct CacheOptions {
  std::string directory;                    // empty: no cache, always read the source
  std::optional<std::uint64_t> limit = {};  // bytes of all entries; not set: see cache_limit
};

/// Reads `path` through the cache. A valid entry is mapped. Otherwise the source is read and
/// transformed, and the entry is written atomically; if the directory cannot be written, `warn` is
/// called and the data is used from memory. An entry is valid if the source's inode, size and
/// times, the read options, the transform and the format version are those it was made with, and
/// all its checksums are right. `transform` null: the raw data. Writing an entry also removes files
/// of killed writers, and the least recently used entries beyond the limit.
Dataset open_dataset(const std::string& path, const ReadOptions& read, const Transform* transform,
                     const CacheOptions& cache, std::string* warning = nullptr);

/// Writes / maps one cache file by name (`evener convert`). Opening reads all of it: it checks the
/// checksums, and every index against its bound.
void write_cache(const Dataset& data, const std::string& path);
Dataset open_cache(const std::string& path);
bool is_cache(const std::string& path);

}  // namespace evener
