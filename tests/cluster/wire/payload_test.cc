// Parameters survive the way they travel, however they are cut up; lies about them do not.
#include "evener/cluster/wire/payload.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "evener/cluster/wire/wire.h"
#include "evener/core/error.h"
#include "evener/core/random.h"

namespace evener {
namespace {

Network network_with(std::uint32_t features, Input input = Input::sparse) {
  return {.features = features, .hidden = {7}, .labels = 11, .input = input};
}

struct Written {
  PayloadHeader header;
  std::vector<std::byte> bytes = std::vector<std::byte>(3);  // of another one
};
Written written(const PayloadFormat& format, std::span<const std::uint32_t> rows, bool whole,
                std::span<const float> values) {
  Written result;
  result.header = format.write(rows, whole, values, result.bytes);
  return result;
}

std::size_t size_of(const Network& network) {
  return layout_of(network).size;
}

/// One message of these bytes in pieces of random sizes, as a network cuts them.
Message in_pieces(std::span<const std::byte> bytes, Random& random) {
  auto owner = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  Message message;
  for (std::size_t at = 0; at < owner->size();) {
    const std::size_t size = std::min<std::size_t>(1 + random.below(9), owner->size() - at);
    message.body.push_back(std::span(*owner).subspan(at, size));
    at += size;
  }
  message.owner = std::move(owner);
  return message;
}

RC_GTEST_PROP(Payload, ComesOutAsItWentIn, (std::uint16_t seed)) {
  Random random(seed);
  const auto kind =
      *rc::gen::element(Compression::Kind::none, Compression::Kind::fp16, Compression::Kind::top_k);
  const auto network = network_with(1 + static_cast<std::uint32_t>(random.below(40)),
                                    *rc::gen::element(Input::sparse, Input::sparse, Input::dense));
  const auto shards = shards_of(network, 1 + random.below(4));
  const Shard& shard = shards[random.below(shards.size())];
  const PayloadFormat format(shard, {kind, 0.3});
  const bool whole = kind == Compression::Kind::none && *rc::gen::inRange(0, 3) == 0;
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < shard.rows && !whole; ++row) {
    if (random.below(2) == 0) rows.push_back(row);
  }
  random.shuffle(std::span(rows));
  // What compression leaves: numbers of half precision, or some of them.
  std::vector<float> values(size_of(network));
  format.for_places(rows, whole, [&](std::size_t at, std::size_t n) {
    for (std::size_t i = at; i < at + n; ++i) {
      if (kind == Compression::Kind::top_k && random.below(4) > 0) continue;
      values[i] = nearest_half(static_cast<float>(random.normal()));
    }
  });

  const auto [header, payload] = written(format, rows, whole, values);
  RC_ASSERT(payload.size() == header.bytes);
  std::vector<float> back(values.size());
  PayloadReader reader(format, header, back);
  for (std::size_t at = 0; at < payload.size();) {
    const std::size_t size = std::min<std::size_t>(1 + random.below(50), payload.size() - at);
    RC_ASSERT(!reader.complete());
    reader.feed(at, in_pieces(std::span(payload).subspan(at, size), random));
    at += size;
  }
  RC_ASSERT(reader.complete());
  RC_ASSERT(reader.finite());
  RC_ASSERT(reader.rows() == rows);
  RC_ASSERT(back == values);
}

TEST(Payload, HeadersThatLieAreRefusedBeforeMemoryIsAskedFor) {
  const Network network = network_with(10);
  const PayloadFormat format(network, {});
  const std::vector<float> values(size_of(network));
  const auto header = [&](const std::vector<std::uint32_t>& rows) {
    return written(format, rows, false, values).header;
  };
  const PayloadHeader right = header({1, 2, 3});
  EXPECT_NO_THROW(format.check(right));
  for (const PayloadHeader& wrong :
       {PayloadHeader{3, false, right.bytes + 4}, PayloadHeader{3, false, std::size_t{4} << 30},
        PayloadHeader{11, false, header({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9}).bytes},
        PayloadHeader{std::size_t{1} << 62, false, 0}, PayloadHeader{3, true, right.bytes},
        PayloadHeader{0, true, right.bytes}}) {
    EXPECT_THROW(format.check(wrong), Error) << wrong.rows << " " << wrong.bytes;
  }
  const PayloadFormat picked(network, {Compression::Kind::top_k});
  EXPECT_NO_THROW(picked.check({1, false, 4 + 8 * 3}));
  for (const std::size_t bytes : {3U, 4U + 7U, 4U + 8U * 1000U}) {
    EXPECT_THROW(picked.check({1, false, bytes}), Error) << bytes;
  }
}

TEST(Payload, ChunksInTheWrongOrderOrTooLongAreRefused) {
  const PayloadFormat format(network_with(10), {});
  std::vector<float> to(size_of(network_with(10)));
  const auto [header, payload] = written(format, std::vector<std::uint32_t>{4, 2}, false, to);
  Random random(1);
  const Message all = in_pieces(payload, random);
  PayloadReader reader(format, header, to);
  EXPECT_THROW(reader.feed(8, all), Error);
  auto longer = payload;
  longer.resize(longer.size() + 1);
  EXPECT_THROW(reader.feed(0, in_pieces(longer, random)), Error);
  EXPECT_NO_THROW(reader.feed(0, all));
  EXPECT_THROW(reader.feed(payload.size(), in_pieces(std::vector<std::byte>(1), random)), Error);
}

TEST(Payload, RowsThatAreNoneAreRefused) {
  const PayloadFormat format(network_with(10), {});
  std::vector<float> values(size_of(network_with(10)));
  auto [header, payload] = written(format, std::vector<std::uint32_t>{4, 2}, false, values);
  const std::uint32_t bad = 10;
  std::memcpy(payload.data() + 4, &bad, sizeof bad);
  Random random(1);
  PayloadReader reader(format, header, values);
  EXPECT_THROW(reader.feed(0, in_pieces(payload, random)), Error);
  EXPECT_TRUE(reader.rows().empty()) << "nothing was written, so there is nothing to clear";
}

TEST(Payload, NumbersThatAreNotFiniteAreSeen) {
  for (const auto kind : {Compression::Kind::none, Compression::Kind::fp16}) {
    const PayloadFormat format(network_with(10), {kind});
    std::vector<float> values(size_of(network_with(10)));
    values.back() = INFINITY;
    auto [header, payload] = written(format, {}, false, values);
    if (kind == Compression::Kind::fp16) {
      const std::uint16_t infinite = 0x7C00;
      std::memcpy(payload.data() + payload.size() - 2, &infinite, sizeof infinite);
    }
    Random random(1);
    std::vector<float> back(values.size());
    PayloadReader reader(format, header, back);
    reader.feed(0, in_pieces(payload, random));
    ASSERT_TRUE(reader.complete());
    EXPECT_FALSE(reader.finite());
  }
}

TEST(Payload, ChunksAreSmallAndInOrder) {
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
  EXPECT_TRUE(buffer.next().empty()) << "the last payload is still on its way: this is another one";
}

}  // namespace
}  // namespace evener
