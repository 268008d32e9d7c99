#include "evener/data/stream.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <string>

#include <lzma.h>
#include <zlib.h>

#include "evener/core/error.h"

namespace evener {

namespace {

class PlainStream : public ByteStream {
 public:
  explicit PlainStream(std::span<const std::byte> bytes) : left_(bytes) {}

  std::size_t read_some(std::span<char> out) override {
    const std::size_t count = std::min(out.size(), left_.size());
    if (count > 0) std::memcpy(out.data(), left_.data(), count);
    left_ = left_.subspan(count);
    return count;
  }

 private:
  std::span<const std::byte> left_;
};

// zlib counts input and output in 32 bits.
unsigned at_most_32_bits(std::size_t size) {
  return static_cast<unsigned>(
      std::min<std::size_t>(size, std::numeric_limits<unsigned>::max() / 2));
}

class GzipStream : public ByteStream {
 public:
  explicit GzipStream(std::span<const std::byte> bytes) : left_(bytes) {
    constexpr int kGzipOnly = 16;
    if (inflateInit2(&zlib_, MAX_WBITS + kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~GzipStream() override { inflateEnd(&zlib_); }

  std::size_t read_some(std::span<char> out) override {
    std::size_t count = 0;
    while (count == 0 && !ended_) {
      if (!failure_.empty()) throw Error(failure_);
      count = inflate_some(out);
    }
    return count;
  }

 private:
  std::size_t inflate_some(std::span<char> out) {
    const unsigned input = at_most_32_bits(left_.size());
    const unsigned room = at_most_32_bits(out.size());
    zlib_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(left_.data()));
    zlib_.avail_in = input;
    zlib_.next_out = reinterpret_cast<Bytef*>(out.data());
    zlib_.avail_out = room;
    const int status = inflate(&zlib_, Z_NO_FLUSH);
    left_ = left_.subspan(input - zlib_.avail_in);
    const std::size_t written = room - zlib_.avail_out;
    if (status == Z_STREAM_END) {
      start_next_member();
    } else if (status == Z_BUF_ERROR) {
      failure_ = "the gzip data ends too early: the file is cut off";
    } else if (status == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (status != Z_OK) {
      failure_ = "the gzip data is damaged";
      if (zlib_.msg != nullptr) failure_ += std::string(": ") + zlib_.msg;
    }
    return written;
  }

  // Another member may follow, or zeros (tapes and some tools pad with them).
  void start_next_member() {
    while (!left_.empty() && left_.front() == std::byte{0}) left_ = left_.subspan(1);
    if (left_.empty()) {
      ended_ = true;
    } else if (inflateReset(&zlib_) != Z_OK || compression_of(left_) != FileCompression::gzip) {
      failure_ = "bytes that are not gzip data follow the gzip data";
    }
  }

  std::span<const std::byte> left_;
  z_stream zlib_{};
  std::string failure_;
  bool ended_ = false;
};

class XzStream : public ByteStream {
 public:
  explicit XzStream(std::span<const std::byte> bytes) {
    // A header can ask for a dictionary of 4 GiB; `xz -9` needs 65 MiB.
    constexpr std::uint64_t kMemoryLimit = std::uint64_t{512} << 20;
    status_ = lzma_stream_decoder(&lzma_, kMemoryLimit, LZMA_CONCATENATED);
    lzma_.next_in = reinterpret_cast<const std::uint8_t*>(bytes.data());
    lzma_.avail_in = bytes.size();
  }
  ~XzStream() override { lzma_end(&lzma_); }

  std::size_t read_some(std::span<char> out) override {
    lzma_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    lzma_.avail_out = out.size();
    while (lzma_.avail_out > 0 && status_ == LZMA_OK) status_ = lzma_code(&lzma_, LZMA_FINISH);
    const std::size_t count = out.size() - lzma_.avail_out;
    if (count == 0 && status_ != LZMA_STREAM_END) report();
    return count;
  }

 private:
  [[noreturn]] void report() const {
    switch (status_) {
      case LZMA_MEM_ERROR:
        throw std::bad_alloc();
      case LZMA_BUF_ERROR:
        throw Error("the xz data ends too early: the file is cut off");
      case LZMA_MEMLIMIT_ERROR:
        throw Error("unpacking the xz data would take more than 512 MiB of memory");
      case LZMA_OPTIONS_ERROR:
        throw Error("the xz data needs an unsupported filter");
      default:
        throw Error("the xz data is damaged");
    }
  }

  lzma_stream lzma_ = LZMA_STREAM_INIT;
  lzma_ret status_ = LZMA_OK;
};

bool starts_with(std::span<const std::byte> bytes, std::span<const unsigned char> magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

}  // namespace

FileCompression compression_of(std::span<const std::byte> bytes) {
  static constexpr unsigned char kGzip[] = {0x1F, 0x8B};
  static constexpr unsigned char kXz[] = {0xFD, '7', 'z', 'X', 'Z', 0};
  if (starts_with(bytes, kGzip)) return FileCompression::gzip;
  if (starts_with(bytes, kXz)) return FileCompression::xz;
  return FileCompression::none;
}

std::unique_ptr<ByteStream> open_stream(std::span<const std::byte> bytes) {
  switch (compression_of(bytes)) {
    case FileCompression::gzip:
      return std::make_unique<GzipStream>(bytes);
    case FileCompression::xz:
      return std::make_unique<XzStream>(bytes);
    case FileCompression::none:
      break;
  }
  return std::make_unique<PlainStream>(bytes);
}

}  // namespace evener
