// Parameters survive the way they travel, however they are cut up; lies about them do not.
#include "evener/cluster/payload.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "evener/cluster/wire.h"
#include "evener/core/error.h"
#include "evener/core/random.h"

namespace evener {
namespace {

Network network_with(std::uint32_t features, Input input = Input::sparse) {
  return {.features = features, .hidden = {7}, .labels = 11, .input = input};
}

std::vector<std::byte> written(const PayloadFormat& format, std::span<const std::uint32_t> rows,
                               bool whole, std::span<const float> values) {
  std::vector<std::byte> payload(3);  // of another one
  format.write(rows, whole, values, payload);
  return payload;
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
  const PayloadFormat format(network, {kind, 0.3});
  const bool whole = kind == Compression::Kind::none && *rc::gen::inRange(0, 3) == 0;
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < network.features && network.sparse_input() && !whole; ++row) {
    if (random.below(2) == 0) rows.push_back(row);
  }
  random.shuffle(std::span(rows));
  // What compression leaves: numbers of half precision, or three of ten at most.
  std::vector<float> values(format.size());
  std::size_t numbers = 0;
  format.for_places(rows, whole, [&](std::size_t, std::size_t n) { numbers += n; });
  std::size_t left = kind == Compression::Kind::top_k ? format.compression().picked(numbers)
                                                      : std::size_t{1} << 20;
  format.for_places(rows, whole, [&](std::size_t at, std::size_t n) {
    for (std::size_t i = at; i < at + n; ++i) {
      if (left == 0 || (kind == Compression::Kind::top_k && random.below(4) > 0)) continue;
      values[i] = nearest_half(static_cast<float>(random.normal()));
      --left;
    }
  });

  const auto payload = written(format, rows, whole, values);
  const PayloadHeader header = format.header(rows.size(), whole);
  RC_ASSERT(payload.size() == header.bytes);
  std::vector<float> back(format.size());
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
  const PayloadFormat format(network_with(10), {});
  const PayloadHeader right = format.header(3, false);
  EXPECT_NO_THROW(format.check(right));
  for (const PayloadHeader& wrong :
       {PayloadHeader{3, false, right.bytes + 4}, PayloadHeader{3, false, std::size_t{4} << 30},
        PayloadHeader{11, false, format.header(11, false).bytes},
        PayloadHeader{std::size_t{1} << 62, false, 0}, PayloadHeader{3, true, right.bytes},
        PayloadHeader{0, true, right.bytes}}) {
    EXPECT_THROW(format.check(wrong), Error) << wrong.rows << " " << wrong.bytes;
  }
}

TEST(Payload, ChunksInTheWrongOrderOrTooLongAreRefused) {
  const PayloadFormat format(network_with(10), {});
  std::vector<float> to(format.size());
  const auto payload = written(format, std::vector<std::uint32_t>{4, 2}, false, to);
  Random random(1);
  const Message all = in_pieces(payload, random);
  PayloadReader reader(format, format.header(2, false), to);
  EXPECT_THROW(reader.feed(8, all), Error);
  auto longer = payload;
  longer.resize(longer.size() + 1);
  EXPECT_THROW(reader.feed(0, in_pieces(longer, random)), Error);
  EXPECT_NO_THROW(reader.feed(0, all));
  EXPECT_THROW(reader.feed(payload.size(), in_pieces(std::vector<std::byte>(1), random)), Error);
}

TEST(Payload, RowsThatAreNoneAreRefused) {
  const PayloadFormat format(network_with(10), {});
  std::vector<float> values(format.size());
  auto payload = written(format, std::vector<std::uint32_t>{4, 2}, false, values);
  const std::uint32_t bad = 10;
  std::memcpy(payload.data() + 4, &bad, sizeof bad);
  Random random(1);
  PayloadReader reader(format, format.header(2, false), values);
  EXPECT_THROW(reader.feed(0, in_pieces(payload, random)), Error);
  EXPECT_TRUE(reader.rows().empty()) << "nothing was written, so there is nothing to clear";
}

TEST(Payload, NumbersThatAreNotFiniteAreSeen) {
  for (const auto kind : {Compression::Kind::none, Compression::Kind::fp16}) {
    const PayloadFormat format(network_with(10), {kind});
    std::vector<float> values(format.size());
    values.back() = INFINITY;
    auto payload = written(format, {}, false, values);
    if (kind == Compression::Kind::fp16) {
      const std::uint16_t infinite = 0x7C00;
      std::memcpy(payload.data() + payload.size() - 2, &infinite, sizeof infinite);
    }
    Random random(1);
    std::vector<float> back(format.size());
    PayloadReader reader(format, format.header(0, false), back);
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
