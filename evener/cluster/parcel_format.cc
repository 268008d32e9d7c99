#include "evener/cluster/parcel_format.h"

#include <cstring>

#include <fmt/format.h>

#include "evener/cluster/wire.pb.h"
#include "evener/core/error.h"
#include "evener/runtime/compression.h"

namespace evener {

namespace {

using Ids = std::vector<std::uint32_t>;

std::size_t bytes_of_number(bool half) {
  return half ? sizeof(std::uint16_t) : sizeof(float);
}

/// How many values such a parcel has; Error where there is none such.
std::size_t values_of(const ParcelMap& map, const ParcelHeader& header) {
  const std::size_t size = bytes_of_number(header.half);
  switch (header.places) {
    case Parcel::Places::offered:  // as many as were offered, which whoever offered them knows
      if (header.rows + header.labels + header.picked > 0 || header.some) break;
      if (header.bytes % size == 0 && header.bytes / size <= map.size()) return header.bytes / size;
      break;
    case Parcel::Places::all:
      if (header.rows > 0 || header.labels > 0) break;
      return header.some ? header.picked : map.size();
    case Parcel::Places::listed:
      return header.some ? header.picked : map.numbers(header.rows, header.labels);
  }
  throw Error(fmt::format("{} bytes that are no parcel", header.bytes));
}

void append(std::vector<std::byte>& to, const void* from, std::size_t bytes) {
  const auto* first = static_cast<const std::byte*>(from);
  to.insert(to.end(), first, first + bytes);
}

void check_ids(const Ids& ids, std::size_t count, const char* what) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < count && (i == 0 || ids[i] > ids[i - 1])) continue;
    throw Error(fmt::format("{} that are none of the model's", what));
  }
}

}  // namespace

ParcelHeader header_of(const wire::Parcel& parcel) {
  if (parcel.places() > static_cast<std::uint32_t>(Parcel::Places::offered)) {
    throw Error("a parcel of a kind that there is not");
  }
  return {static_cast<Parcel::Places>(parcel.places()),
          parcel.rows(),
          parcel.labels(),
          parcel.picked(),
          parcel.some(),
          parcel.half(),
          parcel.bytes()};
}

void set_header(const Parcel& parcel, wire::Parcel& header) {
  header.set_places(static_cast<std::uint32_t>(parcel.places));
  header.set_rows(parcel.rows.size());
  header.set_labels(parcel.labels.size());
  header.set_picked(parcel.picked.size());
  header.set_some(parcel.some);
  header.set_half(parcel.half);
  header.set_bytes(parcel.bytes());
}

void write_parcel(const Parcel& parcel, std::vector<std::byte>& payload) {
  payload.clear();
  payload.reserve(parcel.bytes());
  for (const Ids* ids : {&parcel.rows, &parcel.labels, &parcel.picked}) {
    append(payload, ids->data(), ids->size() * sizeof(std::uint32_t));
  }
  if (!parcel.half) {
    return append(payload, parcel.values.data(), parcel.values.size() * sizeof(float));
  }
  for (const float value : parcel.values) {
    const std::uint16_t bits = half_bits(value);
    append(payload, &bits, sizeof bits);
  }
}

ParcelReader::ParcelReader(const ParcelMap& map, const ParcelHeader& header)
    : map_(map), header_(header) {
  if (header.rows > map.rows() || header.labels > map.labels() || header.picked > map.size()) {
    throw Error(fmt::format("{} rows, {} labels and {} numbers, of {}, {} and {}", header.rows,
                            header.labels, header.picked, map.rows(), map.labels(), map.size()));
  }
  if (!header.some && header.picked > 0) throw Error("numbers picked of all");
  const std::size_t takes = (header.rows + header.labels + header.picked) * sizeof(std::uint32_t) +
                            values_of(map, header) * bytes_of_number(header.half);
  if (header.bytes != takes) {
    throw Error(fmt::format("{} bytes for a parcel that takes {}", header.bytes, takes));
  }
  bytes_.reserve(header.bytes);
}

bool ParcelReader::feed(std::size_t offset, const Message& message) {
  if (offset != bytes_.size() || message.body_size() > header_.bytes - bytes_.size()) {
    throw Error("a chunk that is not the next one");
  }
  for (const auto& piece : message.body) bytes_.insert(bytes_.end(), piece.begin(), piece.end());
  return bytes_.size() == header_.bytes;
}

Parcel ParcelReader::parcel() const {
  Parcel parcel;
  parcel.places = header_.places;
  parcel.some = header_.some;
  parcel.half = header_.half;
  std::size_t at = 0;
  const auto take = [&](void* to, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, bytes_.data() + at, bytes);
    at += bytes;
  };
  const auto take_ids = [&](Ids& ids, std::size_t count) {
    ids.resize(count);
    take(ids.data(), count * sizeof(std::uint32_t));
  };
  take_ids(parcel.rows, header_.rows);
  take_ids(parcel.labels, header_.labels);
  take_ids(parcel.picked, header_.picked);
  check_ids(parcel.rows, map_.rows(), "rows");
  check_ids(parcel.labels, map_.labels(), "labels");
  check_ids(parcel.picked, map_.numbers(parcel), "numbers");
  parcel.values.resize(values_of(map_, header_));
  if (!parcel.half) {
    take(parcel.values.data(), parcel.values.size() * sizeof(float));
    return parcel;
  }
  for (float& value : parcel.values) {
    std::uint16_t bits = 0;
    take(&bits, sizeof bits);
    value = from_half(bits);
  }
  return parcel;
}

}  // namespace evener
