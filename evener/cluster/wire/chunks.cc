#include "evener/cluster/wire/chunks.h"

#include <algorithm>
#include <span>

#include "evener/cluster/wire/wire.pb.h"

namespace evener {

namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

}  // namespace

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
