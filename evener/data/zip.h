// Members of a zip archive in memory: as much of zip as .npz files need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "evener/data/array.h"

namespace evener {

struct ZipMember {
  std::string name;
  std::uint16_t method = 0;
  std::uint32_t crc = 0;
  std::uint64_t packed_size = 0;
  std::uint64_t size = 0;
  std::uint64_t header_offset = 0;
};

/// Throws Error (without a file name) if the archive is damaged.
std::vector<ZipMember> zip_members(std::span<const std::byte> archive);

/// The unpacked member (stored or deflated), checked against its size and checksum.
Array<std::byte> unzip(std::span<const std::byte> archive, const ZipMember& member);

}  // namespace evener
