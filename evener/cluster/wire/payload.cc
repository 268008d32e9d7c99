#include "evener/cluster/wire/payload.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "evener/cluster/wire/wire.pb.h"
#include "evener/core/error.h"
#include "evener/core/finite.h"

namespace evener {

namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

struct Picked {
  std::uint32_t place;
  float value;
};

void append(std::vector<std::byte>& to, const void* from, std::size_t bytes) {
  const auto* first = static_cast<const std::byte*>(from);
  to.insert(to.end(), first, first + bytes);
}

}  // namespace

std::size_t PayloadFormat::bytes_of(std::size_t numbers) const {
  switch (compression_.kind) {
    case Compression::Kind::none:
      return numbers * sizeof(float);
    case Compression::Kind::fp16:
      return numbers * sizeof(std::uint16_t);
    case Compression::Kind::top_k:
      break;
  }
  return numbers * sizeof(Picked);
}

void PayloadFormat::check(const PayloadHeader& given) const {
  if (given.rows > shard_.rows || (given.whole && given.rows > 0)) {
    throw Error(fmt::format("{} rows, where the input layer has {}", given.rows, shard_.rows));
  }
  const std::size_t ids = given.rows * sizeof(std::uint32_t);
  const std::size_t all = ids + bytes_of(numbers(given.rows, given.whole));
  const bool fits =
      compression_.kind == Compression::Kind::top_k
          ? given.bytes >= ids && given.bytes <= all && (given.bytes - ids) % sizeof(Picked) == 0
          : given.bytes == all;
  if (!fits) {
    throw Error(fmt::format("{} bytes for {} rows, which take {}", given.bytes, given.rows, all));
  }
}

PayloadHeader PayloadFormat::write(std::span<const std::uint32_t> rows, bool whole,
                                   std::span<const float> values,
                                   std::vector<std::byte>& payload) const {
  payload.clear();
  payload.reserve(rows.size_bytes() + (compression_.kind == Compression::Kind::top_k
                                           ? 0
                                           : bytes_of(numbers(rows.size(), whole))));
  append(payload, rows.data(), rows.size_bytes());
  std::uint32_t place = 0;
  for_places(rows, whole, [&](std::size_t at, std::size_t n) {
    switch (compression_.kind) {
      case Compression::Kind::none:
        append(payload, values.data() + at, n * sizeof(float));
        break;
      case Compression::Kind::fp16:
        for (std::size_t i = at; i < at + n; ++i) {
          const std::uint16_t bits = half_bits(values[i]);
          append(payload, &bits, sizeof bits);
        }
        break;
      case Compression::Kind::top_k:
        for (std::size_t i = at; i < at + n; ++i, ++place) {
          if (values[i] == 0) continue;
          const Picked picked{place, values[i]};
          append(payload, &picked, sizeof picked);
        }
        break;
    }
  });
  return {rows.size(), whole, payload.size()};
}

PayloadReader::PayloadReader(const PayloadFormat& format, const PayloadHeader& header,
                             std::span<float> to)
    : format_(format), header_(header), to_(to) {
  format.check(header);
  ids_.resize(header.rows);
  if (ids_.empty()) list_places();
}

void PayloadReader::feed(std::size_t offset, const Message& message) {
  if (offset != taken_ || message.body_size() > header_.bytes - taken_) {
    throw Error("a chunk that is not the next one");
  }
  for (const auto& piece : message.body) feed(piece);
  if (complete() && format_.compression().active()) decode();
}

void PayloadReader::feed(std::span<const std::byte> piece) {
  const std::size_t id_bytes = ids_.size() * sizeof(std::uint32_t);
  if (taken_ < id_bytes) {
    const std::size_t part = std::min(piece.size(), id_bytes - taken_);
    std::memcpy(std::as_writable_bytes(std::span(ids_)).data() + taken_, piece.data(), part);
    taken_ += part;
    piece = piece.subspan(part);
    if (taken_ == id_bytes) list_places();
  }
  taken_ += piece.size();
  if (format_.compression().active()) {
    coded_.insert(coded_.end(), piece.begin(), piece.end());
  } else {
    scatter(piece);
  }
}

void PayloadReader::list_places() {
  for (const std::uint32_t row : ids_) {
    if (row >= format_.shard().rows) throw Error(fmt::format("row {} is none of the model's", row));
  }
  rows_ = ids_;
  format_.for_places(rows_, header_.whole, [&](std::size_t at, std::size_t n) {
    places_.push_back({at, n});
  });
}

void PayloadReader::scatter(std::span<const std::byte> piece) {
  while (!piece.empty()) {
    const Range& place = places_[place_];
    const std::size_t room = place.floats * sizeof(float) - in_place_;
    const std::size_t part = std::min(room, piece.size());
    std::memcpy(std::as_writable_bytes(to_.subspan(place.offset)).data() + in_place_, piece.data(),
                part);
    piece = piece.subspan(part);
    in_place_ += part;
    if (part < room) break;
    ++place_;
    in_place_ = 0;
  }
}

void PayloadReader::decode() {
  std::vector<float> numbers;
  for (const auto& place : places_) numbers.resize(numbers.size() + place.floats);
  if (format_.compression().kind == Compression::Kind::fp16) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, coded_.data() + i * sizeof bits, sizeof bits);
      numbers[i] = from_half(bits);
    }
  } else {
    for (std::size_t at = 0; at < coded_.size(); at += sizeof(Picked)) {
      Picked picked{};
      std::memcpy(&picked, coded_.data() + at, sizeof picked);
      if (picked.place >= numbers.size()) throw Error("a number that has no place");
      if (picked.value != 0) numbers[picked.place] = picked.value;
    }
  }
  scatter(std::as_bytes(std::span(numbers)));
  coded_ = {};
}

bool PayloadReader::finite() const {
  return std::all_of(places_.begin(), places_.end(), [&](const Range& place) {
    return all_finite(to_.subspan(place.offset, place.floats));
  });
}

std::vector<std::byte>& PayloadBuffer::next() {
  if (!bytes_ || bytes_.use_count() > 1) bytes_ = std::make_shared<std::vector<std::byte>>();
  return *bytes_;
}

std::vector<Message> chunks_of(const std::shared_ptr<std::vector<std::byte>>& payload,
                               std::uint64_t sequence) {
  const std::span<const std::byte> bytes = *payload;
  std::vector<Message> messages;
  for (std::size_t at = 0; at < bytes.size(); at += kChunkBytes) {
    wire::Head head;
    head.mutable_chunk()->set_sequence(sequence);
    head.mutable_chunk()->set_offset(at);
    const std::size_t size = std::min(kChunkBytes, bytes.size() - at);
    messages.push_back({head.SerializeAsString(), {bytes.subspan(at, size)}, payload});
  }
  return messages;
}

}  // namespace evener
