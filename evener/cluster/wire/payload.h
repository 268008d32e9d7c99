// Parameters in bulk as they travel: the numbers of some rows of a sparse input layer, whole, fp16
// or picked, and the rest of the model; or all of it. In order: row ids (uint32), numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "evener/cluster/transport/transport.h"
#include "evener/device/device.h"
#include "evener/runtime/compression.h"
#include "evener/runtime/shard.h"

namespace evener {

/// What a payload says of itself before it comes.
struct PayloadHeader {
  std::size_t rows = 0;
  bool whole = false;  // all numbers of the model; `rows` is 0
  std::size_t bytes = 0;
};

class PayloadFormat {
 public:
  /// Of a shard of a vector.
  PayloadFormat(const Shard& shard, const Compression& compression)
      : shard_(shard), compression_(compression) {}
  PayloadFormat(const Network& network, const Compression& compression)
      : PayloadFormat(whole_shard(network), compression) {}

  /// The payload of these places of `values`, in the place of what `payload` held. Rows are counted
  /// from the shard's first. Where only some numbers are picked, those that are not zero travel.
  PayloadHeader write(std::span<const std::uint32_t> rows, bool whole,
                      std::span<const float> values, std::vector<std::byte>& payload) const;
  /// Error where no payload can look like that: before any memory is asked for.
  void check(const PayloadHeader& header) const;

  const Shard& shard() const { return shard_; }
  const Compression& compression() const { return compression_; }
  /// Calls f(offset, floats) in the order in which numbers travel.
  template <class F>
  void for_places(std::span<const std::uint32_t> rows, bool whole, F f) const {
    shard_.for_places(rows, whole, f);
  }
  std::size_t numbers(std::size_t rows, bool whole) const {
    return whole ? shard_.size() : rows * shard_.width + shard_.floats;
  }

 private:
  /// Bytes of so many numbers that all travel.
  std::size_t bytes_of(std::size_t numbers) const;

  Shard shard_;
  Compression compression_;
};

/// Takes a payload apart as it comes, into a vector that its shard is of.
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

  struct Range {
    std::size_t offset, floats;
  };

  const PayloadFormat& format_;
  PayloadHeader header_;
  std::span<float> to_;
  std::size_t taken_ = 0;            // bytes so far
  std::vector<std::uint32_t> ids_;   // as they come
  std::vector<std::uint32_t> rows_;  // when all have come
  std::vector<Range> places_;
  std::size_t place_ = 0, in_place_ = 0;  // the next byte goes there
  std::vector<std::byte> coded_;          // of a compressed payload
};

/// The messages that carry a payload.
std::vector<Message> chunks_of(const std::shared_ptr<std::vector<std::byte>>& payload,
                               std::uint64_t sequence);

/// Memory for payloads that are sent one after the other: a large one costs more to ask the system
/// for than to fill.
class PayloadBuffer {
 public:
  /// The last one's, if that has been sent.
  std::vector<std::byte>& next();
  /// The messages that carry what was written to `next`.
  std::vector<Message> chunks(std::uint64_t sequence) const { return chunks_of(bytes_, sequence); }

 private:
  std::shared_ptr<std::vector<std::byte>> bytes_;
};

}  // namespace evener
