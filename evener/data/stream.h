// Files that may be compressed, as streams of bytes. No file is unpacked as a whole.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace evener {

/// Bytes in order. Throws Error (without a file name) when compressed data is damaged or cut off.
class ByteStream {
 public:
  ByteStream() = default;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;
  virtual ~ByteStream() = default;

  /// Writes some bytes to `out` (not empty) and returns how many; 0 at the end. All data before a
  /// damaged place is returned before the damage is reported.
  virtual std::size_t read_some(std::span<char> out) = 0;

  /// Fills `out` as far as there is data.
  std::size_t read(std::span<char> out) {
    std::size_t done = 0;
    while (done < out.size()) {
      const std::size_t count = read_some(out.subspan(done));
      if (count == 0) break;
      done += count;
    }
    return done;
  }
};

enum class FileCompression { none, gzip, xz };

/// The compression of a file, detected by its first bytes.
FileCompression compression_of(std::span<const std::byte> bytes);

/// The unpacked content of `bytes`, which must outlive the stream. Concatenated compressed files
/// (`cat a.gz b.gz`) give the concatenated contents.
std::unique_ptr<ByteStream> open_stream(std::span<const std::byte> bytes);

}  // namespace evener
