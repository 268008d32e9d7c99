#include "evener/data/zip.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <string_view>

#include <zlib.h>

#include "evener/core/error.h"

namespace evener {

namespace {

using Bytes = std::span<const std::byte>;

// All numbers of the format are little-endian and unaligned; the supported machines are
// little-endian too.
template <class T>
T number_at(Bytes bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) {
    throw Error("the zip archive is damaged or cut off");
  }
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

Bytes part_of(Bytes bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size() || bytes.size() - offset < size) {
    throw Error("the zip archive is damaged or cut off");
  }
  return bytes.subspan(offset, size);
}

constexpr std::uint32_t kLocalHeader = 0x04034B50;
constexpr std::uint32_t kCentralHeader = 0x02014B50;
constexpr std::uint32_t kEndOfDirectory = 0x06054B50;
constexpr std::uint32_t kZip64EndOfDirectory = 0x06064B50;
constexpr std::uint32_t kZip64Locator = 0x07064B50;
constexpr std::uint32_t kIn64Bits = 0xFFFFFFFF;

// The record is at the very end, before a comment of at most 64 KiB.
std::uint64_t find_end_of_directory(Bytes archive) {
  constexpr std::uint64_t kSize = 22;
  constexpr std::uint64_t kLongestComment = 0xFFFF;
  if (archive.size() < kSize) throw Error("the zip archive is cut off");
  const std::uint64_t last = archive.size() - kSize;
  const std::uint64_t first = last > kLongestComment ? last - kLongestComment : 0;
  for (std::uint64_t at = last + 1; at > first; --at) {
    if (number_at<std::uint32_t>(archive, at - 1) == kEndOfDirectory) return at - 1;
  }
  throw Error("the zip archive is cut off: it has no directory at its end");
}

struct Directory {
  std::uint64_t offset, members;
};

Directory find_directory(Bytes archive) {
  const std::uint64_t end = find_end_of_directory(archive);
  Directory directory{number_at<std::uint32_t>(archive, end + 16),
                      number_at<std::uint16_t>(archive, end + 10)};
  constexpr std::uint64_t kLocatorSize = 20;
  if (end >= kLocatorSize &&
      number_at<std::uint32_t>(archive, end - kLocatorSize) == kZip64Locator) {
    const auto record = number_at<std::uint64_t>(archive, end - kLocatorSize + 8);
    if (number_at<std::uint32_t>(archive, record) != kZip64EndOfDirectory) {
      throw Error("the zip archive's directory is damaged");
    }
    directory = {number_at<std::uint64_t>(archive, record + 48),
                 number_at<std::uint64_t>(archive, record + 32)};
  }
  return directory;
}

// Sizes beyond 32 bits are in an extra field, in this order, each only if it is needed.
void read_zip64_sizes(Bytes extra, ZipMember& member) {
  constexpr std::uint16_t kZip64 = 0x0001;
  while (extra.size() >= 4) {
    const auto kind = number_at<std::uint16_t>(extra, 0);
    const auto size = number_at<std::uint16_t>(extra, 2);
    const Bytes field = part_of(extra, 4, size);
    std::uint64_t at = 0;
    for (std::uint64_t* value : {&member.size, &member.packed_size, &member.header_offset}) {
      if (kind != kZip64 || *value != kIn64Bits) continue;
      *value = number_at<std::uint64_t>(field, at);
      at += 8;
    }
    extra = extra.subspan(4 + size);
  }
}

Bytes packed_bytes(Bytes archive, const ZipMember& member) {
  if (number_at<std::uint32_t>(archive, member.header_offset) != kLocalHeader) {
    throw Error("the zip archive's directory is damaged");
  }
  constexpr std::uint64_t kSize = 30;
  const std::uint64_t lengths =
      std::uint64_t{number_at<std::uint16_t>(archive, member.header_offset + 26)} +
      number_at<std::uint16_t>(archive, member.header_offset + 28);
  return part_of(archive, member.header_offset + kSize + lengths, member.packed_size);
}

void inflate_member(Bytes packed, Array<std::byte>& out) {
  z_stream zlib{};
  if (inflateInit2(&zlib, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  int status = Z_OK;
  std::size_t done = 0;
  constexpr std::size_t kStep = std::size_t{1} << 30;  // zlib counts in 32 bits
  while (status == Z_OK) {
    const std::size_t input = std::min(packed.size(), kStep);
    const std::size_t room = std::min(out.size() - done, kStep);
    std::byte nothing{};
    zlib.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
    zlib.avail_in = static_cast<uInt>(input);
    zlib.next_out = reinterpret_cast<Bytef*>(room > 0 ? out.data() + done : &nothing);
    zlib.avail_out = static_cast<uInt>(room);
    status = inflate(&zlib, Z_NO_FLUSH);
    packed = packed.subspan(input - zlib.avail_in);
    done += room - zlib.avail_out;
  }
  inflateEnd(&zlib);
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  if (status != Z_STREAM_END || done != out.size()) throw Error("a zip member is damaged");
}

std::uint32_t checksum(const Array<std::byte>& bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

std::vector<ZipMember> zip_members(Bytes archive) {
  const Directory directory = find_directory(archive);
  std::vector<ZipMember> members;
  std::uint64_t at = directory.offset;
  for (std::uint64_t i = 0; i < directory.members; ++i) {
    if (number_at<std::uint32_t>(archive, at) != kCentralHeader) {
      throw Error("the zip archive's directory is damaged");
    }
    ZipMember member;
    member.method = number_at<std::uint16_t>(archive, at + 10);
    member.crc = number_at<std::uint32_t>(archive, at + 16);
    member.packed_size = number_at<std::uint32_t>(archive, at + 20);
    member.size = number_at<std::uint32_t>(archive, at + 24);
    const auto name_size = number_at<std::uint16_t>(archive, at + 28);
    const auto extra_size = number_at<std::uint16_t>(archive, at + 30);
    const auto comment_size = number_at<std::uint16_t>(archive, at + 32);
    member.header_offset = number_at<std::uint32_t>(archive, at + 42);
    const Bytes name = part_of(archive, at + 46, name_size);
    member.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
    read_zip64_sizes(part_of(archive, at + 46 + name_size, extra_size), member);
    members.push_back(std::move(member));
    at += std::uint64_t{46} + name_size + extra_size + comment_size;
  }
  return members;
}

Array<std::byte> unzip(Bytes archive, const ZipMember& member) {
  const Bytes packed = packed_bytes(archive, member);
  constexpr std::uint16_t kStored = 0;
  constexpr std::uint16_t kDeflated = 8;
  // Deflate compresses by less than 1032 to 1; a larger ratio is an attempt to exhaust memory.
  constexpr std::uint64_t kLargestRatio = 1032;
  if (member.method != kStored && member.method != kDeflated) {
    throw Error("the zip member " + member.name + " is packed by an unsupported method");
  }
  if (member.method == kStored ? member.size != packed.size()
                               : member.size / kLargestRatio > packed.size()) {
    throw Error("the zip member " + member.name + " has an impossible size");
  }
  Array<std::byte> bytes;
  if (member.method == kStored) {
    bytes.append(packed);
  } else {
    bytes.resize(member.size);
    inflate_member(packed, bytes);
  }
  if (checksum(bytes) != member.crc) {
    throw Error("the zip member " + member.name + " is damaged: its checksum is wrong");
  }
  return bytes;
}

}  // namespace evener
