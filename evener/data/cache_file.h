// The layout of a cache file: a header, then the arrays of a data set as they are in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "evener/data/dataset.h"

namespace evener {

/// Little-endian, no padding. The arrays follow in the order feature offsets, indices, values,
/// label offsets, label indices, label names; each begins at a multiple of 64 bytes, and the gaps
/// are zero. Their sizes follow from the counts, so a header cannot give wrong offsets.
struct CacheHeader {
  static constexpr char kMagic[8] = {'E', 'V', 'E', 'N', 'D', 'A', 'T', 'A'};
  static constexpr std::uint32_t kVersion = 1;

  char magic[8];
  std::uint32_t version;
  std::uint32_t has_values;  // 0: every feature is 1
  std::uint64_t file_size;
  std::uint64_t rows;
  std::uint64_t features;  // non-zeros
  std::uint64_t labels;    // non-zeros
  std::uint32_t feature_count;
  std::uint32_t label_count;
  std::uint64_t names_size;  // bytes; each name is a 32-bit length and its characters; 0: no names
  std::uint64_t names_checksum;    // xxh3, like all checksums here
  std::uint64_t payload_checksum;  // all bytes after the header
  std::uint64_t stamp;             // fingerprint of the sources; 0: made by `evener convert`
  std::uint64_t header_checksum;   // all bytes before this field
};
static_assert(sizeof(CacheHeader) == 96);

/// Whether `bytes` begin as a cache file of any version does.
bool begins_as_cache(std::span<const std::byte> bytes);

/// The header, if it is of this version and every bound in it lies within the file.
/// `wrong_version` distinguishes a file of another version from a damaged one. Throws DataError.
CacheHeader checked_cache_header(std::span<const std::byte> bytes, const std::string& name,
                                 bool* wrong_version = nullptr);

void write_cache_file(const Dataset& data, const std::string& path, std::uint64_t stamp);

}  // namespace evener
