// Updates of gossiping peers as they travel. In order: rows, labels and picked numbers (uint32
// each), values (floats, or sixteen bits each).
#pragma once

#include <cstddef>
#include <vector>

#include "evener/cluster/transport/transport.h"
#include "evener/runtime/model_update.h"

namespace evener {

namespace wire {
class ModelUpdate;
}

/// What a update says of itself before it comes.
struct ModelUpdateHeader {
  ModelUpdate::Places places = ModelUpdate::Places::all;
  std::size_t rows = 0, labels = 0, picked = 0;
  bool some = false, half = false;
  std::size_t bytes = 0;
};
/// Error where it says what there is not.
ModelUpdateHeader header_of(const wire::ModelUpdate& update);
void set_header(const ModelUpdate& update, wire::ModelUpdate& header);

/// What follows the header.
void write_update(const ModelUpdate& update, std::vector<std::byte>& payload);

/// Puts a update together as it comes. Error where it cannot be what was said.
class ModelUpdateReader {
 public:
  /// Error where no update of the model can look like that: before any memory is asked for. `map`
  /// outlives it.
  ModelUpdateReader(const ModelUpdateLayout& map, const ModelUpdateHeader& header);

  /// The next bytes; true: they were the last.
  bool feed(std::size_t offset, const Message& message);
  /// When it is complete. Error where rows, labels or numbers are none of the model's.
  ModelUpdate update() const;

 private:
  const ModelUpdateLayout& map_;
  ModelUpdateHeader header_;
  std::vector<std::byte> bytes_;
};

}  // namespace evener
