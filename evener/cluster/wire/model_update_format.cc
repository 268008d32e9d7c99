#include "evener/cluster/wire/model_update_format.h"

#include <cstring>

#include <fmt/format.h>

#include "evener/cluster/wire/wire.pb.h"
#include "evener/core/error.h"
#include "evener/runtime/compression.h"

namespace evener {

namespace {

using Ids = std::vector<std::uint32_t>;

std::size_t bytes_of_number(bool half) {
  return half ? sizeof(std::uint16_t) : sizeof(float);
}

/// How many values such a update has; Error where there is none such.
std::size_t values_of(const ModelUpdateLayout& map, const ModelUpdateHeader& header) {
  const std::size_t size = bytes_of_number(header.half);
  switch (header.places) {
    case ModelUpdate::Places::offered:  // as many as were offered, which whoever offered them knows
      if (header.rows + header.labels + header.picked > 0 || header.some) break;
      if (header.bytes % size == 0 && header.bytes / size <= map.size()) return header.bytes / size;
      break;
    case ModelUpdate::Places::all:
      if (header.rows > 0 || header.labels > 0) break;
      return header.some ? header.picked : map.size();
    case ModelUpdate::Places::listed:
      return header.some ? header.picked : map.numbers(header.rows, header.labels);
  }
  throw Error(fmt::format("{} bytes that are no update", header.bytes));
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

ModelUpdateHeader header_of(const wire::ModelUpdate& update) {
  if (update.places() > static_cast<std::uint32_t>(ModelUpdate::Places::offered)) {
    throw Error("a update of a kind that there is not");
  }
  return {static_cast<ModelUpdate::Places>(update.places()),
          update.rows(),
          update.labels(),
          update.picked(),
          update.some(),
          update.half(),
          update.bytes()};
}

void set_header(const ModelUpdate& update, wire::ModelUpdate& header) {
  header.set_places(static_cast<std::uint32_t>(update.places));
  header.set_rows(update.rows.size());
  header.set_labels(update.labels.size());
  header.set_picked(update.picked.size());
  header.set_some(update.some);
  header.set_half(update.half);
  header.set_bytes(update.bytes());
}

void write_update(const ModelUpdate& update, std::vector<std::byte>& payload) {
  payload.clear();
  payload.reserve(update.bytes());
  for (const Ids* ids : {&update.rows, &update.labels, &update.picked}) {
    append(payload, ids->data(), ids->size() * sizeof(std::uint32_t));
  }
  if (!update.half) {
    return append(payload, update.values.data(), update.values.size() * sizeof(float));
  }
  for (const float value : update.values) {
    const std::uint16_t bits = half_bits(value);
    append(payload, &bits, sizeof bits);
  }
}

ModelUpdateReader::ModelUpdateReader(const ModelUpdateLayout& map, const ModelUpdateHeader& header)
    : map_(map), header_(header) {
  if (header.rows > map.rows() || header.labels > map.labels() || header.picked > map.size()) {
    throw Error(fmt::format("{} rows, {} labels and {} numbers, of {}, {} and {}", header.rows,
                            header.labels, header.picked, map.rows(), map.labels(), map.size()));
  }
  if (!header.some && header.picked > 0) throw Error("numbers picked of all");
  const std::size_t takes = (header.rows + header.labels + header.picked) * sizeof(std::uint32_t) +
                            values_of(map, header) * bytes_of_number(header.half);
  if (header.bytes != takes) {
    throw Error(fmt::format("{} bytes for a update that takes {}", header.bytes, takes));
  }
  bytes_.reserve(header.bytes);
}

bool ModelUpdateReader::feed(std::size_t offset, const Message& message) {
  if (offset != bytes_.size() || message.body_size() > header_.bytes - bytes_.size()) {
    throw Error("a chunk that is not the next one");
  }
  for (const auto& piece : message.body) bytes_.insert(bytes_.end(), piece.begin(), piece.end());
  return bytes_.size() == header_.bytes;
}

ModelUpdate ModelUpdateReader::update() const {
  ModelUpdate update;
  update.places = header_.places;
  update.some = header_.some;
  update.half = header_.half;
  std::size_t at = 0;
  const auto take = [&](void* to, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, bytes_.data() + at, bytes);
    at += bytes;
  };
  const auto take_ids = [&](Ids& ids, std::size_t count) {
    ids.resize(count);
    take(ids.data(), count * sizeof(std::uint32_t));
  };
  take_ids(update.rows, header_.rows);
  take_ids(update.labels, header_.labels);
  take_ids(update.picked, header_.picked);
  check_ids(update.rows, map_.rows(), "rows");
  check_ids(update.labels, map_.labels(), "labels");
  check_ids(update.picked, map_.numbers(update), "numbers");
  update.values.resize(values_of(map_, header_));
  if (!update.half) {
    take(update.values.data(), update.values.size() * sizeof(float));
    return update;
  }
  for (float& value : update.values) {
    std::uint16_t bits = 0;
    take(&bits, sizeof bits);
    value = from_half(bits);
  }
  return update;
}

}  // namespace evener
