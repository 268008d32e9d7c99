#include "evener/cluster/wire/chunks.h"

#include <algorithm>
#include <span>

#include "evener/cluster/wire/wire.pb.h"

namespace evener {

namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

std::vector<Message> cut(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner,
                         std::uint64_t sequence) {
  std::vector<Message> messages;
  for (std::size_t at = 0; at < bytes.size(); at += kChunkBytes) {
    wire::Head head;
    head.mutable_chunk()->set_sequence(sequence);
    head.mutable_chunk()->set_offset(at);
    const std::size_t size = std::min(kChunkBytes, bytes.size() - at);
    messages.push_back({head.SerializeAsString(), {bytes.subspan(at, size)}, owner});
  }
  return messages;
}

}  // namespace

std::vector<Message> chunks_of(const std::shared_ptr<std::vector<std::byte>>& payload,
                               std::uint64_t sequence) {
  return cut(*payload, payload, sequence);
}

std::vector<std::byte>& PayloadBuffer::next() {
  // Acquire: what another thread read from the buffer comes before what is written to it now. The
  // use count of a shared_ptr does not promise that.
  if (!buffer_ || buffer_->users.load(std::memory_order_acquire) > 0) {
    buffer_ = std::make_shared<Buffer>();
  }
  return buffer_->bytes;
}

std::vector<Message> PayloadBuffer::chunks(std::uint64_t sequence) {
  buffer_->users.fetch_add(1, std::memory_order_relaxed);
  const std::shared_ptr<const void> owner(buffer_->bytes.data(),
                                          [buffer = buffer_](const void* /*bytes*/) {
                                            buffer->users.fetch_sub(1, std::memory_order_release);
                                          });
  return cut(buffer_->bytes, owner, sequence);
}

}  // namespace evener
