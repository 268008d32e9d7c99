// Parcels of gossiping peers as they travel. In order: rows, labels and picked numbers (uint32
// each), values (floats, or sixteen bits each).
#pragma once

#include <cstddef>
#include <vector>

#include "evener/cluster/transport.h"
#include "evener/runtime/parcel.h"

namespace evener {

namespace wire {
class Parcel;
}

/// What a parcel says of itself before it comes.
struct ParcelHeader {
  Parcel::Places places = Parcel::Places::all;
  std::size_t rows = 0, labels = 0, picked = 0;
  bool some = false, half = false;
  std::size_t bytes = 0;
};
/// Error where it says what there is not.
ParcelHeader header_of(const wire::Parcel& parcel);
void set_header(const Parcel& parcel, wire::Parcel& header);

/// What follows the header.
void write_parcel(const Parcel& parcel, std::vector<std::byte>& payload);

/// Puts a parcel together as it comes. Error where it cannot be what was said.
class ParcelReader {
 public:
  /// Error where no parcel of the model can look like that: before any memory is asked for. `map`
  /// outlives it.
  ParcelReader(const ParcelMap& map, const ParcelHeader& header);

  /// The next bytes; true: they were the last.
  bool feed(std::size_t offset, const Message& message);
  /// When it is complete. Error where rows, labels or numbers are none of the model's.
  Parcel parcel() const;

 private:
  const ParcelMap& map_;
  ParcelHeader header_;
  std::vector<std::byte> bytes_;
};

}  // namespace evener
