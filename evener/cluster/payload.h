// Parameters in bulk as they travel: the numbers of some rows of a sparse input layer, whole, fp16
// or picked, and the rest of the model; or all of it. In order: row ids (uint32), numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "evener/cluster/transport.h"
#include "evener/device/device.h"
#include "evener/runtime/compression.h"

namespace evener {

/// What a payload says of itself before it comes.
struct PayloadHeader {
  std::size_t rows = 0;
  bool whole = false;  // all numbers of the model; `rows` is 0
  std::size_t bytes = 0;
};

class PayloadFormat {
 public:
  PayloadFormat(const Network& network, const Compression& compression);

  PayloadHeader header(std::size_t rows, bool whole) const;
  /// The payload of these places of `values`, which has the model's size, in the place of what
  /// `payload` held.
  void write(std::span<const std::uint32_t> rows, bool whole, std::span<const float> values,
             std::vector<std::byte>& payload) const;
  /// Error where no payload can look like that: before any memory is asked for.
  void check(const PayloadHeader& header) const;

  std::size_t features() const { return features_; }
  std::size_t size() const { return layout_.size; }
  const Compression& compression() const { return compression_; }
  /// Calls f(offset, floats) in the order in which numbers travel.
  template <class F>
  void for_places(std::span<const std::uint32_t> rows, bool whole, F f) const {
    if (whole) return f(std::size_t{0}, layout_.size);
    for_blocks(blocks_of(network_, layout_, rows), layout_.size, f);
  }

 private:
  std::size_t numbers(std::size_t rows, bool whole) const;

  Network network_;
  Layout layout_;
  std::size_t features_;  // rows of a sparse input layer; 0: it is not sparse
  Compression compression_;
};

/// Takes a payload apart as it comes, into a vector of the model's size.
class PayloadReader {
 public:
  /// Error as `check`'s.
  PayloadReader(const PayloadFormat& format, const PayloadHeader& header, std::span<float> to);

  /// The next bytes. Error where they are more than was said, or a row id is none.
  void feed(std::size_t offset, const Message& message);
  bool complete() const { return taken_ == header_.bytes; }
  /// Whether every number that came is finite; when it is complete.
  bool finite() const;
  const PayloadHeader& header() const { return header_; }
  /// Those whose places may have been written to.
  const std::vector<std::uint32_t>& rows() const { return rows_; }

 private:
  void feed(std::span<const std::byte> piece);
  void list_places();
  /// To the places in turn, as many bytes as there are.
  void scatter(std::span<const std::byte> piece);
  void decode();

  struct Place {
    std::size_t offset, floats;
  };

  const PayloadFormat& format_;
  PayloadHeader header_;
  std::span<float> to_;
  std::size_t taken_ = 0;            // bytes so far
  std::vector<std::uint32_t> ids_;   // as they come
  std::vector<std::uint32_t> rows_;  // when all have come
  std::vector<Place> places_;
  std::size_t place_ = 0, in_place_ = 0;  // the next byte goes there
  std::vector<std::byte> coded_;          // of a compressed payload
};

/// Memory for payloads that are sent one after the other: a large one costs more to ask the system
/// for than to fill.
class PayloadBuffer {
 public:
  /// The last one's, if that has been sent.
  std::vector<std::byte>& next();
  /// The messages that carry what was written to `next`.
  std::vector<Message> chunks(std::uint64_t sequence) const;

 private:
  std::shared_ptr<std::vector<std::byte>> bytes_;
};

}  // namespace evener
