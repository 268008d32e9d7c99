// Updates survive the way they travel, however they are cut up; lies about them do not.
#include "evener/cluster/wire/model_update_format.h"

#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "evener/cluster/wire/wire.h"
#include "evener/core/random.h"

namespace evener {
namespace {

Network small_network(Input input = Input::sparse) {
  return {.features = 10, .hidden = {2}, .labels = 5, .input = input};
}

std::vector<std::uint32_t> some_of(std::size_t count, Random& random) {
  std::vector<std::uint32_t> ids;
  for (std::uint32_t id = 0; id < count; ++id) {
    if (random.below(3) == 0) ids.push_back(id);
  }
  return ids;
}

Message message_with(std::span<const std::byte> bytes) {
  auto owner = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  return {"", {std::span<const std::byte>(*owner)}, owner};
}

ModelUpdateHeader header_on_the_way(const ModelUpdate& update) {
  wire::ModelUpdate header;
  set_header(update, header);
  return header_of(header);
}

RC_GTEST_PROP(ParcelFormat, ComesOutAsItWentIn, (std::uint16_t seed)) {
  Random random(seed);
  const ModelUpdateLayout map(small_network(*rc::gen::element(Input::sparse, Input::dense)));
  ModelUpdate update;
  update.places = *rc::gen::element(ModelUpdate::Places::all, ModelUpdate::Places::listed,
                                    ModelUpdate::Places::offered);
  std::size_t numbers = map.size();
  if (update.places == ModelUpdate::Places::listed) {
    update.rows = some_of(map.rows(), random);
    update.labels = some_of(map.labels(), random);
    numbers = map.numbers(update);
  }
  if (update.places == ModelUpdate::Places::offered) {
    numbers = 1 + random.below(map.size());
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
  write_update(update, payload);
  RC_ASSERT(payload.size() == update.bytes());
  ModelUpdateReader reader(map, header_on_the_way(update));
  for (std::size_t at = 0; at < payload.size();) {
    const std::size_t size = std::min<std::size_t>(1 + random.below(50), payload.size() - at);
    const bool last = reader.feed(at, message_with(std::span(payload).subspan(at, size)));
    at += size;
    RC_ASSERT(last == (at == payload.size()));
  }
  const ModelUpdate back = reader.update();
  RC_ASSERT(back.places == update.places && back.some == update.some && back.half == update.half);
  RC_ASSERT(back.rows == update.rows && back.labels == update.labels);
  RC_ASSERT(back.picked == update.picked && back.values == update.values);
}

TEST(ParcelFormat, HeadersThatLieAreRefusedBeforeMemoryIsAskedFor) {
  using Places = ModelUpdate::Places;
  const ModelUpdateLayout map(small_network());
  const std::size_t all = 4 * map.size(), one = 4 + 4 * map.numbers(1, 0);
  constexpr std::size_t kHuge = std::size_t{1} << 62;
  const auto header = [](Places places, std::size_t rows, std::size_t labels, std::size_t bytes) {
    ModelUpdateHeader claim;
    claim.places = places;
    claim.rows = rows;
    claim.labels = labels;
    claim.bytes = bytes;
    return claim;
  };
  EXPECT_NO_THROW(ModelUpdateReader(map, header(Places::all, 0, 0, all)));
  EXPECT_NO_THROW(ModelUpdateReader(map, header(Places::listed, 1, 0, one)));
  EXPECT_NO_THROW(ModelUpdateReader(map, header(Places::offered, 0, 0, 8)));
  std::vector wrong{header(Places::all, 0, 0, all + 4),
                    header(Places::all, 1, 0, all + 4),
                    header(Places::all, 0, 1, all + 4),
                    header(Places::all, 0, 0, kHuge),
                    header(Places::listed, 1, 0, one - 4),
                    header(Places::listed, 11, 0, 44 + 4 * map.numbers(11, 0)),
                    header(Places::listed, 0, 6, 24 + 4 * map.numbers(0, 6)),
                    header(Places::listed, kHuge, 0, 0),
                    header(Places::offered, 0, 0, all + 4),
                    header(Places::offered, 0, 0, 7),
                    header(Places::offered, 1, 0, 8)};
  ModelUpdateHeader picked = header(Places::all, 0, 0, 8);
  picked.picked = 1;
  wrong.push_back(picked);  // of all, which are none
  picked.some = true;
  EXPECT_NO_THROW(ModelUpdateReader(map, picked));
  picked.bytes = 12;
  wrong.push_back(picked);
  picked.picked = kHuge;
  wrong.push_back(picked);
  for (const ModelUpdateHeader& lie : wrong) {
    EXPECT_THROW(ModelUpdateReader(map, lie), Error) << lie.rows << " " << lie.bytes;
  }
  wire::ModelUpdate unknown;
  unknown.set_places(3);
  EXPECT_THROW(header_of(unknown), Error);
}

TEST(ParcelFormat, PlacesThatAreNoneAndChunksInTheWrongOrderAreRefused) {
  const ModelUpdateLayout map(small_network());
  const auto read = [&](const ModelUpdate& update) {
    std::vector<std::byte> payload;
    write_update(update, payload);
    ModelUpdateReader reader(map, header_on_the_way(update));
    EXPECT_THROW(reader.feed(4, message_with(payload)), Error);
    EXPECT_TRUE(reader.feed(0, message_with(payload)));
    EXPECT_THROW(reader.feed(payload.size(), message_with(std::vector<std::byte>(1))), Error);
    return reader.update();
  };
  ModelUpdate right;
  right.places = ModelUpdate::Places::listed;
  right.rows = {2, 9};
  right.labels = {0, 4};
  right.values.resize(map.numbers(right));
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

}  // namespace
}  // namespace evener
