#include "evener/cluster/wire/model_update_format.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "evener/cluster/wire/wire.pb.h"
#include "evener/core/error.h"
#include "evener/core/finite.h"

namespace evener {

namespace {

using Places = ModelUpdate::Places;

std::size_t bytes_of_number(bool half) {
  return half ? sizeof(std::uint16_t) : sizeof(float);
}

std::size_t bytes_of_ids(const ModelUpdateHeader& header) {
  return (header.rows + header.labels + header.picked) * sizeof(std::uint32_t);
}

/// How many values follow the ids. Only for a header that was checked.
std::size_t count_values(const ModelUpdateLayout& layout, const ModelUpdateHeader& header) {
  if (header.places == Places::offered) return header.bytes / bytes_of_number(header.half);
  if (header.some) return header.picked;
  return header.places == Places::all ? layout.size() : layout.numbers(header.rows, header.labels);
}

void append(std::vector<std::byte>& to, const void* from, std::size_t bytes) {
  const auto* first = static_cast<const std::byte*>(from);
  to.insert(to.end(), first, first + bytes);
}

void append_ids(std::span<const std::uint32_t> ids, std::vector<std::byte>& to) {
  append(to, ids.data(), ids.size_bytes());
}

void append_numbers(std::span<const float> numbers, bool half, std::vector<std::byte>& to) {
  if (!half) return append(to, numbers.data(), numbers.size_bytes());
  for (const float number : numbers) {
    const std::uint16_t bits = half_bits(number);
    append(to, &bits, sizeof bits);
  }
}

void check_ids(std::span<const std::uint32_t> ids, std::size_t count, bool ascending,
               const char* what) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool in_order = !ascending || i == 0 || ids[i] > ids[i - 1];
    if (ids[i] >= count || !in_order) {
      throw Error(fmt::format("{} {} is out of range or out of order", what, ids[i]));
    }
  }
}

void copy_bytes(void* to, std::size_t offset, std::span<const std::byte> piece) {
  if (!piece.empty()) std::memcpy(static_cast<std::byte*>(to) + offset, piece.data(), piece.size());
}

}  // namespace

ModelUpdateHeader header_of(const wire::ModelUpdate& update) {
  if (update.places() > static_cast<std::uint32_t>(Places::offered)) {
    throw Error("an update with an unknown kind of places");
  }
  return {static_cast<Places>(update.places()),
          update.rows(),
          update.labels(),
          update.picked(),
          update.some(),
          update.half(),
          update.bytes()};
}

void set_header(const ModelUpdateHeader& header, wire::ModelUpdate& update) {
  update.set_places(static_cast<std::uint32_t>(header.places));
  update.set_rows(header.rows);
  update.set_labels(header.labels);
  update.set_picked(header.picked);
  update.set_some(header.some);
  update.set_half(header.half);
  update.set_bytes(header.bytes);
}

ModelUpdateHeader write_update(const ModelUpdate& update, std::vector<std::byte>& payload) {
  payload.clear();
  payload.reserve(update.bytes());
  append_ids(update.rows, payload);
  append_ids(update.labels, payload);
  append_ids(update.picked, payload);
  append_numbers(update.values, update.half, payload);
  return {update.places, update.rows.size(), update.labels.size(), update.picked.size(),
          update.some,   update.half,        payload.size()};
}

void check_header(const ModelUpdateLayout& layout, const ModelUpdateHeader& header) {
  if (header.rows > layout.rows() || header.labels > layout.labels() ||
      header.picked > layout.size()) {
    throw Error(fmt::format("{} rows, {} labels and {} numbers of a model that has {}, {} and {}",
                            header.rows, header.labels, header.picked, layout.rows(),
                            layout.labels(), layout.size()));
  }
  const std::size_t ids = header.rows + header.labels + header.picked;
  const bool lists_ids = header.rows + header.labels > 0;
  if ((header.picked > 0 && !header.some) || (lists_ids && header.places != Places::listed) ||
      (header.places == Places::offered && (ids > 0 || header.some))) {
    throw Error("an update whose header contradicts itself");
  }
  const std::size_t number = bytes_of_number(header.half);
  std::size_t takes = bytes_of_ids(header) + count_values(layout, header) * number;
  if (header.places == Places::offered) takes = std::min(takes, layout.size() * number);
  if (header.bytes != takes) {
    throw Error(fmt::format("{} bytes for an update that takes {}", header.bytes, takes));
  }
}

void ModelUpdateFormat::check(const ModelUpdateHeader& header) const {
  if (header.places == Places::offered || header.labels > 0 ||
      header.half != (compression_.kind == Compression::Kind::fp16) ||
      header.some != (compression_.kind == Compression::Kind::top_k)) {
    throw Error("an update of another format than was agreed on");
  }
  check_header(layout_, header);
}

ModelUpdateHeader ModelUpdateFormat::write(std::span<const std::uint32_t> rows, bool whole,
                                           std::span<const float> values,
                                           std::vector<std::byte>& payload) const {
  const Places places = whole ? Places::all : Places::listed;
  if (compression_.kind == Compression::Kind::top_k) {
    ModelUpdate update;
    update.places = places;
    update.rows.assign(rows.begin(), rows.end());
    update.some = true;
    std::uint32_t position = 0;
    layout_.for_places(whole, rows, {}, [&](std::size_t at, std::size_t n) {
      for (std::size_t i = at; i < at + n; ++i, ++position) {
        if (values[i] == 0) continue;
        update.picked.push_back(position);
        update.values.push_back(values[i]);
      }
    });
    return write_update(update, payload);
  }
  const bool half = compression_.kind == Compression::Kind::fp16;
  ModelUpdateHeader header{places, rows.size(), 0, 0, false, half, 0};
  header.bytes = bytes_of_ids(header) + count_values(layout_, header) * bytes_of_number(half);
  payload.clear();
  payload.reserve(header.bytes);
  append_ids(rows, payload);
  layout_.for_places(whole, rows, {}, [&](std::size_t at, std::size_t n) {
    append_numbers(values.subspan(at, n), half, payload);
  });
  return header;
}

ModelUpdateReader::ModelUpdateReader(const ModelUpdateFormat& format,
                                     const ModelUpdateHeader& header, std::span<float> to)
    : layout_(format.layout()), header_(header), to_(to), collects_(false) {
  format.check(header);
  begin();
}

ModelUpdateReader::ModelUpdateReader(const ModelUpdateLayout& layout,
                                     const ModelUpdateHeader& header)
    : layout_(layout), header_(header), collects_(true) {
  check_header(layout, header);
  begin();
}

void ModelUpdateReader::begin() {
  update_.places = header_.places;
  update_.some = header_.some;
  update_.half = header_.half;
  ids_.resize(header_.rows + header_.labels + header_.picked);
  // Floats are copied to their destination at once; 16-bit numbers are decoded when all have
  // arrived.
  if (collects_ || header_.some || header_.half) {
    update_.values.resize(count_values(layout_, header_));
  }
  if (header_.half) halves_.resize(update_.values.size());
  if (ids_.empty()) split_ids();
  if (complete()) finish();
}

void ModelUpdateReader::feed(std::size_t offset, const Message& message) {
  if (offset != taken_ || message.body_size() > header_.bytes - taken_) {
    throw Error("a chunk that is not the next one");
  }
  for (const auto& piece : message.body) feed(piece);
  if (complete()) finish();
}

void ModelUpdateReader::feed(std::span<const std::byte> piece) {
  const std::size_t id_bytes = ids_.size() * sizeof(std::uint32_t);
  if (taken_ < id_bytes) {
    const std::size_t part = std::min(piece.size(), id_bytes - taken_);
    copy_bytes(ids_.data(), taken_, piece.first(part));
    taken_ += part;
    piece = piece.subspan(part);
    if (taken_ == id_bytes) split_ids();
  }
  const std::size_t offset = taken_ - id_bytes;
  taken_ += piece.size();
  if (header_.half) {
    copy_bytes(halves_.data(), offset, piece);
  } else if (!update_.values.empty()) {
    copy_bytes(update_.values.data(), offset, piece);
  } else {
    scatter(piece);
  }
}

/// All ids have arrived.
void ModelUpdateReader::split_ids() {
  const std::span<const std::uint32_t> all = ids_;
  const auto rows = all.first(header_.rows);
  const auto labels = all.subspan(header_.rows, header_.labels);
  const auto picked = all.subspan(header_.rows + header_.labels);
  check_ids(rows, layout_.rows(), collects_, "row");
  check_ids(labels, layout_.labels(), collects_, "label");
  const std::size_t numbers = header_.places == Places::all
                                  ? layout_.size()
                                  : layout_.numbers(header_.rows, header_.labels);
  check_ids(picked, numbers, true, "number");
  update_.rows.assign(rows.begin(), rows.end());
  update_.labels.assign(labels.begin(), labels.end());
  update_.picked.assign(picked.begin(), picked.end());
  if (collects_) return;
  layout_.for_places(update_, [&](std::size_t at, std::size_t n) { places_.push_back({at, n}); });
}

/// Copies the bytes to the destination ranges, one range after the other.
void ModelUpdateReader::scatter(std::span<const std::byte> piece) {
  while (!piece.empty()) {
    const Range& place = places_[place_];
    const std::size_t room = place.floats * sizeof(float) - in_place_;
    const std::size_t part = std::min(room, piece.size());
    copy_bytes(to_.subspan(place.at).data(), in_place_, piece.first(part));
    piece = piece.subspan(part);
    in_place_ += part;
    if (part < room) break;
    ++place_;
    in_place_ = 0;
  }
}

void ModelUpdateReader::finish() {
  std::transform(halves_.begin(), halves_.end(), update_.values.begin(), from_half);
  if (collects_ || update_.values.empty()) return;
  layout_.for_numbers(update_, [&](std::size_t at, std::size_t i) { to_[at] = update_.values[i]; });
}

bool ModelUpdateReader::finite() const {
  if (collects_) return all_finite(update_.values);
  return std::all_of(places_.begin(), places_.end(), [&](const Range& place) {
    return all_finite(to_.subspan(place.at, place.floats));
  });
}

}  // namespace evener
