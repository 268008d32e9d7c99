// The folder of the binary cache: its entries, their size bound, and files of killed writers.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "evener/data/cache.h"

namespace evener {

struct CacheEntry {
  std::string path;
  std::string source;  // name of the file that it is a copy of, at most 100 bytes
  std::uint64_t bytes = 0;
  timespec last_use{};
};

/// How many files were removed, and their size.
struct CacheRemoval {
  std::size_t entries = 0;
  std::size_t leftovers = 0;
  std::uint64_t bytes = 0;
};

/// NAME-KEY.evdata in the directory; KEY is 16 hexadecimal digits.
std::string cache_entry_path(const std::string& directory, const std::string& source,
                             std::uint64_t key);

/// The entries, the most recently used first. A directory that does not exist has none. Throws
/// Error if it cannot be read.
std::vector<CacheEntry> cache_entries(const std::string& directory);

/// The bound in bytes: that of the options, else the smaller of 20 GB and 10 % of the disk.
std::uint64_t cache_limit(const CacheOptions& cache);

/// Marks an entry as used now. An entry that this user cannot change stays as it is.
void mark_cache_use(const std::string& entry);

/// Removes temporary files (entry.tmpPID.N) of writers that have ended without removing them. A
/// writer on another machine or in another container is recognised by the lock on its file. Reads
/// the names in the directory, and nothing else if there are none of such files.
CacheRemoval remove_cache_leftovers(const std::string& directory);

/// Removes the least recently used entries, but never `keep`, until the rest fits into `limit`. A
/// process that has mapped a removed entry can use it until it ends.
CacheRemoval bound_cache(const std::string& directory, std::uint64_t limit,
                         const std::string& keep);

/// Removes all entries and leftovers. Other files in the directory stay.
CacheRemoval clean_cache(const std::string& directory);

}  // namespace evener
