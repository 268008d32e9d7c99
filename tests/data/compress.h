// Compressed bytes for tests.
#pragma once

#include <stdexcept>
#include <string>

#include <lzma.h>
#include <zlib.h>

namespace evener {

inline void check(bool compressed) {
  if (!compressed) throw std::runtime_error("cannot compress");
}

/// `window_bits`: 15 + 16 gzip, -15 raw deflate (zip).
inline std::string deflated(const std::string& text, int window_bits = 15 + 16) {
  z_stream zlib{};
  check(deflateInit2(&zlib, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&zlib, text.size()) + 64, '\0');
  zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  zlib.avail_in = static_cast<uInt>(text.size());
  zlib.next_out = reinterpret_cast<Bytef*>(out.data());
  zlib.avail_out = static_cast<uInt>(out.size());
  check(deflate(&zlib, Z_FINISH) == Z_STREAM_END);
  out.resize(zlib.total_out);
  deflateEnd(&zlib);
  return out;
}

inline std::string xz_of(const std::string& text) {
  std::string out(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  check(lzma_easy_buffer_encode(3, LZMA_CHECK_CRC64, nullptr,
                                reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                                reinterpret_cast<std::uint8_t*>(out.data()), &size,
                                out.size()) == LZMA_OK);
  out.resize(size);
  return out;
}

}  // namespace evener
