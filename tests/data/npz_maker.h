// .npz files as numpy writes them, for tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/data/compress.h"
#include <zlib.h>

namespace evener {

/// `shape` as Python prints it: "(3,)", "()".
inline std::string npy(const std::string& type, const std::string& shape,
                       const std::string& bytes) {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.append(64 - (10 + header.size() + 1) % 64, ' ');
  header += '\n';
  std::string file = "\x93NUMPY\x01";
  file += '\0';
  file += static_cast<char>(header.size() & 0xFF);
  file += static_cast<char>(header.size() >> 8);
  return file + header + bytes;
}

template <class T>
std::string npy_of(const std::string& type, const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return npy(type, "(" + std::to_string(values.size()) + ",)", bytes);
}

inline std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i, value >>= 8) text += static_cast<char>(value & 0xFF);
  return text;
}

/// A zip archive member by member. numpy forces the 64-bit extra field in local headers.
class ZipMaker {
 public:
  explicit ZipMaker(bool deflate) : deflate_(deflate) {}

  ZipMaker& add(const std::string& name, const std::string& content) {
    const std::string packed = deflate_ ? deflated(content, -15) : content;
    const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
    const std::string common = little_endian(45, 2) + little_endian(0, 2) +
                               little_endian(deflate_ ? 8 : 0, 2) + little_endian(0, 4) +
                               little_endian(crc, 4);
    directory_ += "PK\x01\x02" + little_endian(45, 2) + common + little_endian(packed.size(), 4) +
                  little_endian(content.size(), 4) + little_endian(name.size(), 2) +
                  little_endian(0, 2 + 2 + 2 + 2 + 4) + little_endian(archive_.size(), 4) + name;
    archive_ += "PK\x03\x04" + common + little_endian(0xFFFFFFFF, 4) +
                little_endian(0xFFFFFFFF, 4) + little_endian(name.size(), 2) +
                little_endian(20, 2) + name + little_endian(1, 2) + little_endian(16, 2) +
                little_endian(content.size(), 8) + little_endian(packed.size(), 8) + packed;
    ++members_;
    return *this;
  }
  std::string finish() const {
    return archive_ + directory_ + "PK\x05\x06" + little_endian(0, 4) + little_endian(members_, 2) +
           little_endian(members_, 2) + little_endian(directory_.size(), 4) +
           little_endian(archive_.size(), 4) + little_endian(0, 2);
  }

 private:
  bool deflate_;
  std::string archive_;
  std::string directory_;
  std::uint64_t members_ = 0;
};

}  // namespace evener
