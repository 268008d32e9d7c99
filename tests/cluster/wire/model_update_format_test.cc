// Numbers of a model arrive unchanged, however the payload is cut into chunks. Wrong payloads and
// headers are refused.
#include "evener/cluster/wire/model_update_format.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "evener/cluster/wire/wire.h"
#include "evener/core/random.h"

namespace evener {
namespace {

using Places = ModelUpdate::Places;
constexpr std::size_t kHuge = std::size_t{1} << 62;

Network small_network(Input input = Input::sparse) {
  return {.features = 10, .hidden = {2}, .labels = 5, .input = input};
}

Network network_with(std::uint32_t features, Input input = Input::sparse) {
  return {.features = features, .hidden = {7}, .labels = 11, .input = input};
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
Message message_with(std::span<const std::byte> bytes) {
  auto owner = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  return {"", {std::span<const std::byte>(*owner)}, owner};
}

/// Feeds the payload in chunks of random sizes.
void feed_all(ModelUpdateReader& reader, std::span<const std::byte> payload, Random& random) {
  for (std::size_t at = 0; at < payload.size();) {
    const std::size_t size = std::min<std::size_t>(1 + random.below(50), payload.size() - at);
    RC_ASSERT(!reader.complete());
    reader.feed(at, in_pieces(payload.subspan(at, size), random));
    at += size;
  }
  RC_ASSERT(reader.complete());
}

ModelUpdateHeader header_on_the_way(const ModelUpdateHeader& header) {
  wire::ModelUpdate message;
  set_header(header, message);
  return header_of(message);
}

std::vector<std::uint32_t> some_of(std::size_t count, Random& random) {
  std::vector<std::uint32_t> ids;
  for (std::uint32_t id = 0; id < count; ++id) {
    if (random.below(3) == 0) ids.push_back(id);
  }
  return ids;
}

RC_GTEST_PROP(ModelUpdateFormat, ScatteredNumbersRoundTrip, (std::uint16_t seed)) {
  Random random(seed);
  const auto kind =
      *rc::gen::element(Compression::Kind::none, Compression::Kind::fp16, Compression::Kind::top_k);
  const auto network = network_with(1 + static_cast<std::uint32_t>(random.below(40)),
                                    *rc::gen::element(Input::sparse, Input::sparse, Input::dense));
  const auto shards = shards_of(network, 1 + random.below(4));
  const Shard& shard = shards[random.below(shards.size())];
  const ModelUpdateFormat format(shard, {kind, 0.3});
  const bool whole = kind == Compression::Kind::none && *rc::gen::inRange(0, 3) == 0;
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < shard.rows && !whole; ++row) {
    if (random.below(2) == 0) rows.push_back(row);
  }
  random.shuffle(std::span(rows));
  // What compression leaves: numbers of half precision, or some of them.
  std::vector<float> values(size_of(network));
  std::size_t sent = 0, not_zero = 0;
  format.layout().for_places(whole, rows, {}, [&](std::size_t at, std::size_t n) {
    sent += n;
    for (std::size_t i = at; i < at + n; ++i) {
      if (kind == Compression::Kind::top_k && random.below(4) > 0) continue;
      values[i] = nearest_half(static_cast<float>(random.normal()));
      not_zero += values[i] != 0 ? 1 : 0;
    }
  });

  std::vector<std::byte> payload(3);  // of another one
  const auto header = format.write(rows, whole, values, payload);
  const std::size_t numbers = kind == Compression::Kind::none   ? 4 * sent
                              : kind == Compression::Kind::fp16 ? 2 * sent
                                                                : 8 * not_zero;
  RC_ASSERT(payload.size() == header.bytes);
  RC_ASSERT(payload.size() == 4 * rows.size() + numbers);
  std::vector<float> back(values.size());
  ModelUpdateReader reader(format, header_on_the_way(header), back);
  feed_all(reader, payload, random);
  RC_ASSERT(reader.finite());
  RC_ASSERT(reader.rows() == rows);
  RC_ASSERT(back == values);
}

RC_GTEST_PROP(ModelUpdateFormat, CollectedUpdatesRoundTrip, (std::uint16_t seed)) {
  Random random(seed);
  const ModelUpdateLayout layout(small_network(*rc::gen::element(Input::sparse, Input::dense)));
  ModelUpdate update;
  update.places = *rc::gen::element(Places::all, Places::listed, Places::offered);
  std::size_t numbers = layout.size();
  if (update.places == Places::listed) {
    update.rows = some_of(layout.rows(), random);
    update.labels = some_of(layout.labels(), random);
    numbers = layout.numbers(update);
  }
  if (update.places == Places::offered) {
    numbers = 1 + random.below(layout.size());
  } else if (random.below(2) == 0) {
    update.some = true;
    update.picked = some_of(numbers, random);
    numbers = update.picked.size();
  }
  update.half = random.below(2) == 0;
  for (std::size_t i = 0; i < numbers; ++i) {
    const auto value = static_cast<float>(random.normal());
    update.values.push_back(update.half ? nearest_half(value) : value);
  }

  std::vector<std::byte> payload;
  const auto header = write_update(update, payload);
  RC_ASSERT(payload.size() == update.bytes());
  ModelUpdateReader reader(layout, header_on_the_way(header));
  feed_all(reader, payload, random);
  RC_ASSERT(reader.finite());
  const ModelUpdate back = reader.take();
  RC_ASSERT(back.places == update.places && back.some == update.some && back.half == update.half);
  RC_ASSERT(back.rows == update.rows && back.labels == update.labels);
  RC_ASSERT(back.picked == update.picked && back.values == update.values);
}

TEST(ModelUpdateFormat, LayoutsOfAModelAndOfItsOnlyShardHaveTheSameOrder) {
  for (const Input input : {Input::sparse, Input::dense}) {
    const Network network = small_network(input);
    std::size_t next = 0;
    for (const auto& layout :
         {ModelUpdateLayout(network), ModelUpdateLayout(whole_shard(network))}) {
      next = 0;
      layout.for_places(true, {}, {}, [&](std::size_t at, std::size_t n) {
        EXPECT_EQ(at, next);
        next += n;
      });
      EXPECT_EQ(next, layout_of(network).size);
      EXPECT_EQ(layout.size(), next);
    }
  }
}

ModelUpdateHeader claim(Places places, std::size_t rows, std::size_t labels, std::size_t bytes) {
  ModelUpdateHeader header;
  header.places = places;
  header.rows = rows;
  header.labels = labels;
  header.bytes = bytes;
  return header;
}

TEST(ModelUpdateFormat, WrongHeadersOfUpdatesAreRefusedBeforeMemoryIsReserved) {
  const ModelUpdateLayout layout(small_network());
  const std::size_t all = 4 * layout.size(), one = 4 + 4 * layout.numbers(1, 0);
  EXPECT_NO_THROW(ModelUpdateReader(layout, claim(Places::all, 0, 0, all)));
  EXPECT_NO_THROW(ModelUpdateReader(layout, claim(Places::listed, 1, 0, one)));
  EXPECT_NO_THROW(ModelUpdateReader(layout, claim(Places::offered, 0, 0, 8)));
  std::vector wrong{claim(Places::all, 0, 0, all + 4),
                    claim(Places::all, 1, 0, all + 4),
                    claim(Places::all, 0, 1, all + 4),
                    claim(Places::all, 0, 0, kHuge),
                    claim(Places::listed, 1, 0, one - 4),
                    claim(Places::listed, 11, 0, 44 + 4 * layout.numbers(11, 0)),
                    claim(Places::listed, 0, 6, 24 + 4 * layout.numbers(0, 6)),
                    claim(Places::listed, kHuge, 0, 0),
                    claim(Places::offered, 0, 0, all + 4),
                    claim(Places::offered, 0, 0, kHuge),
                    claim(Places::offered, 0, 0, 7),
                    claim(Places::offered, 1, 0, 8)};
  ModelUpdateHeader picked = claim(Places::all, 0, 0, 8);
  picked.picked = 1;
  wrong.push_back(picked);  // picked, but `some` is not set
  picked.some = true;
  EXPECT_NO_THROW(ModelUpdateReader(layout, picked));
  picked.bytes = 12;
  wrong.push_back(picked);
  picked.picked = kHuge;
  wrong.push_back(picked);
  for (const ModelUpdateHeader& lie : wrong) {
    EXPECT_THROW(ModelUpdateReader(layout, lie), Error) << lie.rows << " " << lie.bytes;
  }
  wire::ModelUpdate unknown;
  unknown.set_places(3);
  EXPECT_THROW(header_of(unknown), Error);
}

TEST(ModelUpdateFormat, WrongHeadersOfPushesAreRefusedBeforeMemoryIsReserved) {
  const Network network = network_with(10);
  const ModelUpdateFormat format(network, {});
  const std::vector<float> values(size_of(network));
  std::vector<std::byte> payload;
  const auto header = [&](const std::vector<std::uint32_t>& rows) {
    return format.write(rows, false, values, payload);
  };
  const ModelUpdateHeader right = header({1, 2, 3});
  EXPECT_NO_THROW(format.check(right));
  std::vector wrong{claim(Places::listed, 3, 0, right.bytes + 4),
                    claim(Places::listed, 3, 0, std::size_t{4} << 30),
                    claim(Places::listed, 11, 0, header({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9}).bytes),
                    claim(Places::listed, kHuge, 0, 0),
                    claim(Places::all, 3, 0, right.bytes),
                    claim(Places::all, 0, 0, right.bytes),
                    claim(Places::offered, 0, 0, 8),
                    claim(Places::listed, 0, 1, right.bytes)};
  ModelUpdateHeader other = right;  // not the compression that was agreed on
  other.half = true;
  other.bytes = 12 + (right.bytes - 12) / 2;
  wrong.push_back(other);
  for (const ModelUpdateHeader& lie : wrong) {
    EXPECT_THROW(format.check(lie), Error) << lie.rows << " " << lie.bytes;
  }
  const ModelUpdateFormat top_k(network, {Compression::Kind::top_k});
  ModelUpdateHeader picked = claim(Places::listed, 1, 0, 4 + 8 * 3);
  picked.some = true;
  picked.picked = 3;
  EXPECT_NO_THROW(top_k.check(picked));
  for (const std::size_t bytes : {3U, 4U + 7U, 4U + 8U * 1000U}) {
    picked.bytes = bytes;
    EXPECT_THROW(top_k.check(picked), Error) << bytes;
  }
}

TEST(ModelUpdateFormat, ChunksInTheWrongOrderOrTooLongAreRefused) {
  const Network network = network_with(10);
  const ModelUpdateFormat format(network, {});
  std::vector<float> to(size_of(network));
  std::vector<std::byte> payload;
  const auto header = format.write(std::vector<std::uint32_t>{4, 2}, false, to, payload);
  Random random(1);
  const Message all = in_pieces(payload, random);
  ModelUpdateReader reader(format, header, to);
  EXPECT_THROW(reader.feed(8, all), Error);
  auto longer = payload;
  longer.resize(longer.size() + 1);
  EXPECT_THROW(reader.feed(0, in_pieces(longer, random)), Error);
  EXPECT_NO_THROW(reader.feed(0, all));
  EXPECT_THROW(reader.feed(payload.size(), in_pieces(std::vector<std::byte>(1), random)), Error);
}

TEST(ModelUpdateFormat, RowsOutOfRangeAreRefused) {
  const Network network = network_with(10);
  const ModelUpdateFormat format(network, {});
  std::vector<float> values(size_of(network));
  std::vector<std::byte> payload;
  const auto header = format.write(std::vector<std::uint32_t>{4, 2}, false, values, payload);
  const std::uint32_t bad = 10;
  std::memcpy(payload.data() + 4, &bad, sizeof bad);
  Random random(1);
  ModelUpdateReader reader(format, header, values);
  EXPECT_THROW(reader.feed(0, in_pieces(payload, random)), Error);
  EXPECT_TRUE(reader.rows().empty()) << "nothing was written, so there is nothing to clear";
}

TEST(ModelUpdateFormat, IdsOutOfRangeOrOrderAreRefused) {
  const ModelUpdateLayout layout(small_network());
  const auto read = [&](const ModelUpdate& update) {
    std::vector<std::byte> payload;
    const auto header = write_update(update, payload);
    ModelUpdateReader reader(layout, header_on_the_way(header));
    EXPECT_THROW(reader.feed(4, message_with(payload)), Error);
    reader.feed(0, message_with(payload));
    EXPECT_TRUE(reader.complete());
    EXPECT_THROW(reader.feed(payload.size(), message_with(std::vector<std::byte>(1))), Error);
    return reader.take();
  };
  ModelUpdate right;
  right.places = Places::listed;
  right.rows = {2, 9};
  right.labels = {0, 4};
  right.values.resize(layout.numbers(right));
  EXPECT_NO_THROW(read(right));
  for (auto ids : {&ModelUpdate::rows, &ModelUpdate::labels}) {
    for (const std::vector<std::uint32_t>& bad :
         {std::vector<std::uint32_t>{2, 10}, {4, 2}, {3, 3}, {4, 4294967295U}}) {
      ModelUpdate wrong = right;
      wrong.*ids = bad;
      EXPECT_THROW(read(wrong), Error) << bad[0] << " " << bad[1];
    }
  }
  ModelUpdate picked = right;
  picked.some = true;
  picked.picked = {0, static_cast<std::uint32_t>(right.values.size() - 1)};
  picked.values.resize(2);
  EXPECT_NO_THROW(read(picked));
  ++picked.picked[1];
  EXPECT_THROW(read(picked), Error);
}

TEST(ModelUpdateFormat, DetectsNumbersThatAreNotFinite) {
  const Network network = network_with(10);
  for (const auto kind : {Compression::Kind::none, Compression::Kind::fp16}) {
    const ModelUpdateFormat format(network, {kind});
    std::vector<float> values(size_of(network));
    values.back() = INFINITY;
    std::vector<std::byte> payload;
    const auto header = format.write({}, false, values, payload);
    if (kind == Compression::Kind::fp16) {
      const std::uint16_t infinite = 0x7C00;
      std::memcpy(payload.data() + payload.size() - 2, &infinite, sizeof infinite);
    }
    Random random(1);
    std::vector<float> back(values.size());
    ModelUpdateReader reader(format, header, back);
    reader.feed(0, in_pieces(payload, random));
    ASSERT_TRUE(reader.complete());
    EXPECT_FALSE(reader.finite());
  }
}

}  // namespace
}  // namespace evener
