// Splits text into pieces that end at a line end, for the text parsers.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "evener/data/array.h"
#include "evener/data/stream.h"

namespace evener {

class Windows {
 public:
  Windows() = default;
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;
  virtual ~Windows() = default;

  /// Whole lines, the last with its '\n' even if the file lacks it; empty at the end. The text
  /// stays valid until the call after the next one, so that the next piece can be fetched while
  /// this one is parsed.
  virtual std::string_view next() = 0;
  /// Whether `next` takes so long that a separate thread should call it.
  virtual bool slow() const = 0;
};

/// Text in memory, cut without copying.
std::unique_ptr<Windows> windows_of(std::string_view text, std::size_t size);

/// Whether a stream only copies, or unpacks.
enum class StreamSpeed { fast, slow };

/// Text from a stream, copied. Errors of the stream become DataErrors with `name` and the line.
std::unique_ptr<Windows> windows_of(std::unique_ptr<ByteStream> stream, const std::string& name,
                                    std::size_t size, StreamSpeed speed = StreamSpeed::slow);

}  // namespace evener
