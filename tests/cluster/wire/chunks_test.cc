#include "evener/cluster/wire/chunks.h"

#include <gtest/gtest.h>

#include "evener/cluster/wire/wire.h"

namespace evener {
namespace {

TEST(Chunks, AreSmallAndInOrder) {
  PayloadBuffer buffer;
  buffer.next().resize(5'000'000);
  const auto messages = buffer.chunks(7);
  std::size_t at = 0;
  for (const auto& message : messages) {
    const wire::Head head = head_of(message);
    EXPECT_EQ(head.chunk().sequence(), 7U);
    EXPECT_EQ(head.chunk().offset(), at);
    EXPECT_LT(message.body_size() + message.head.size(), kMostMessageBytes);
    at += message.body_size();
  }
  EXPECT_EQ(at, 5'000'000U);
  EXPECT_TRUE(buffer.next().empty()) << "the last payload is still being sent: this is another one";
}

}  // namespace
}  // namespace evener
