#include "evener/cluster/transport/grpc/grpc_frame.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include <grpc/slice.h>

namespace evener {

static_assert(std::endian::native == std::endian::little, "numbers are sent as they are in memory");

namespace {

using Owner = std::shared_ptr<const void>;

grpc::Slice kept_slice(std::span<const std::byte> piece, const Owner& owner) {
  // gRPC's C interface takes a mutable pointer and does not write through it.
  auto* data = const_cast<std::byte*>(piece.data());  // NOLINT(*const-cast)
  return {grpc_slice_new_with_user_data(
              data, piece.size(), [](void* kept) { delete static_cast<Owner*>(kept); },
              new Owner(owner)),
          grpc::Slice::STEAL_REF};
}

}  // namespace

grpc::ByteBuffer to_frame(const Message& message) {
  const auto length = static_cast<std::uint32_t>(message.head.size());
  std::string front(sizeof length, '\0');
  std::memcpy(front.data(), &length, sizeof length);
  front += message.head;
  std::vector<grpc::Slice> slices{grpc::Slice(front)};
  for (const auto& piece : message.body) {
    if (!piece.empty()) slices.push_back(kept_slice(piece, message.owner));
  }
  return {slices.data(), slices.size()};
}

std::optional<Message> from_frame(const grpc::ByteBuffer& frame) {
  auto slices = std::make_shared<std::vector<grpc::Slice>>();
  if (!frame.Dump(slices.get()).ok()) return std::nullopt;
  std::vector<std::span<const std::byte>> pieces;
  for (const auto& slice : *slices) {
    pieces.push_back(std::as_bytes(std::span(slice.begin(), slice.size())));
  }
  std::size_t at = 0;  // of the piece that is read
  const auto read = [&](char* to, std::size_t size) {
    for (; size > 0 && at < pieces.size(); ++at) {
      const std::size_t part = std::min(size, pieces[at].size());
      std::memcpy(to, pieces[at].data(), part);
      pieces[at] = pieces[at].subspan(part);
      to += part;
      size -= part;
      if (!pieces[at].empty()) break;
    }
    return size == 0;
  };
  std::uint32_t length = 0;
  if (!read(reinterpret_cast<char*>(&length), sizeof length)) return std::nullopt;  // NOLINT
  if (length > frame.Length()) return std::nullopt;
  Message message;
  message.head.resize(length);
  if (!read(message.head.data(), length)) return std::nullopt;
  message.body.assign(pieces.begin() + static_cast<std::ptrdiff_t>(at), pieces.end());
  message.owner = std::move(slices);
  return message;
}

}  // namespace evener
