// Bulk bytes as messages. Payloads are cut into chunks, because the size of a message is limited.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "evener/cluster/transport/transport.h"

namespace evener {

/// The messages that carry a payload, which they share and do not copy.
std::vector<Message> chunks_of(const std::shared_ptr<std::vector<std::byte>>& payload,
                               std::uint64_t sequence);

/// A reusable buffer for payloads that are sent one after the other. Allocating a large buffer
/// costs more than filling it.
class PayloadBuffer {
 public:
  /// The buffer of the last payload if that has been sent, otherwise a new one.
  std::vector<std::byte>& next();
  /// The messages that carry what was written to `next`.
  std::vector<Message> chunks(std::uint64_t sequence);

 private:
  struct Buffer {
    std::vector<std::byte> bytes;
    std::atomic<int> users = 0;  // calls of chunks() whose messages are still on their way
  };
  std::shared_ptr<Buffer> buffer_;
};

}  // namespace evener
