// The wire format of model numbers: pushes, pulls, worker states, shards and gossip. A header
// (wire.proto) describes what follows; the payload is the ids of listed rows, of listed labels and
// of picked numbers (uint32 each), then the values (float, or 16 bits each).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "evener/cluster/transport/transport.h"
#include "evener/runtime/compression.h"
#include "evener/runtime/model_update.h"

namespace evener {

namespace wire {
class ModelUpdate;
}

/// The description of an update, which arrives before its payload.
struct ModelUpdateHeader {
  ModelUpdate::Places places = ModelUpdate::Places::all;
  std::size_t rows = 0, labels = 0, picked = 0;  // ids that are listed
  bool some = false, half = false;               // as in ModelUpdate
  std::size_t bytes = 0;                         // of the payload

  bool whole() const { return places == ModelUpdate::Places::all && !some; }
};
/// Error if the header has an unknown value of `places`.
ModelUpdateHeader header_of(const wire::ModelUpdate& update);
void set_header(const ModelUpdateHeader& header, wire::ModelUpdate& update);

/// Writes the payload of an update and replaces what `payload` held.
ModelUpdateHeader write_update(const ModelUpdate& update, std::vector<std::byte>& payload);

/// Error if no update of such a model can have this header. Allocates nothing.
void check_header(const ModelUpdateLayout& layout, const ModelUpdateHeader& header);

/// Updates between two processes that have agreed on a shard and on a compression. They are
/// written from a parameter vector and read into one, without a copy in between.
class ModelUpdateFormat {
 public:
  ModelUpdateFormat(const Shard& shard, const Compression& compression)
      : layout_(shard), compression_(compression) {}
  ModelUpdateFormat(const Network& network, const Compression& compression)
      : ModelUpdateFormat(whole_shard(network), compression) {}

  /// Writes the numbers of `values`, a parameter vector, in these rows and in the part that belongs
  /// to no row. `whole`: all numbers of the shard; no rows are given. With top-k compression only
  /// numbers that are not zero are written.
  ModelUpdateHeader write(std::span<const std::uint32_t> rows, bool whole,
                          std::span<const float> values, std::vector<std::byte>& payload) const;
  /// Error if no update of this format can have this header. Allocates nothing.
  void check(const ModelUpdateHeader& header) const;

  const ModelUpdateLayout& layout() const { return layout_; }

 private:
  ModelUpdateLayout layout_;
  Compression compression_;
};

/// Reads a payload as it arrives.
class ModelUpdateReader {
 public:
  /// Scatters the numbers into a parameter vector. Numbers that are not sent stay unchanged. Error
  /// as check().
  ModelUpdateReader(const ModelUpdateFormat& format, const ModelUpdateHeader& header,
                    std::span<float> to);
  /// Collects the update, for take(). `layout` outlives the reader. Error as check_header().
  ModelUpdateReader(const ModelUpdateLayout& layout, const ModelUpdateHeader& header);

  /// Reads the next bytes. Error if the offset is not the next one, there are too many bytes, or an
  /// id is out of range.
  void feed(std::size_t offset, const Message& message);
  bool complete() const { return taken_ == header_.bytes; }
  /// Whether every number that arrived is finite. Only when the update is complete.
  bool finite() const;
  /// The rows that may have been written to.
  const std::vector<std::uint32_t>& rows() const { return update_.rows; }
  /// Only where the update is collected, and complete.
  ModelUpdate take() { return std::move(update_); }

 private:
  struct Range {
    std::size_t at, floats;
  };

  void begin();
  void feed(std::span<const std::byte> piece);
  void split_ids();
  void scatter(std::span<const std::byte> piece);
  void finish();

  const ModelUpdateLayout& layout_;
  ModelUpdateHeader header_;
  std::span<float> to_;  // empty: the update is collected
  bool collects_;
  std::size_t taken_ = 0;           // bytes so far
  std::vector<std::uint32_t> ids_;  // of rows, labels and picked numbers, as they arrive
  ModelUpdate update_;
  std::vector<Range> places_;             // in `to_`
  std::size_t place_ = 0, in_place_ = 0;  // where the next byte goes
  std::vector<std::uint16_t> halves_;     // numbers in 16 bits, as they arrive
};

}  // namespace evener
