#include "evener/cluster/transport/transport.h"

#include <cstdint>

namespace evener {

std::size_t Message::body_size() const {
  std::size_t sum = 0;
  for (const auto& piece : body) sum += piece.size();
  return sum;
}

std::size_t Message::size() const {
  return sizeof(std::uint32_t) + head.size() + body_size();
}

}  // namespace evener
