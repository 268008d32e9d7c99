// Devices with their own memory: memory limits, and merges without the host.
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/device/devices_here.h"
#include "tests/device/random_data.h"
#include <gtest/gtest.h>

namespace evener {
namespace {

class Accelerator : public testing::TestWithParam<std::string> {};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Accelerator);
INSTANTIATE_TEST_SUITE_P(Devices, Accelerator, testing::ValuesIn(accelerators_here()),
                         [](const auto& device) { return test_name(device.param); });

TEST_P(Accelerator, AModelThatDoesNotFitIsRefusedInWords) {
  Network network{.features = 1000, .hidden = {64}, .labels = 5000};
  const auto device = open_device(GetParam(), 1'000'000);
  for (const auto& refused : {std::function<void()>([&] { device->most_rows(network, {}); }),
                              std::function<void()>([&] { device->make_replica(network, {}); })}) {
    try {
      refused();
      ADD_FAILURE() << "no error";
    } catch (const DeviceError& error) {
      EXPECT_NE(std::string(error.what()).find("needs"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("1.0 MB"), std::string::npos) << error.what();
    }
  }
}

TEST_P(Accelerator, ALimitBoundsTheRowsOfABatchAndTheyFit) {
  Network network{.features = 1000, .hidden = {64}, .labels = 5000};
  const Training training;
  std::size_t before = 0;
  for (const std::size_t megabytes : {7, 10, 20}) {
    const auto device = open_device(GetParam(), megabytes * 1'000'000);
    const std::size_t most = device->most_rows(network, training);
    EXPECT_GT(most, before) << megabytes;
    before = most;
    Random random(1);
    const Dataset data = random_data(random, most, network.features, network.labels);
    std::vector<std::uint32_t> rows(most);
    std::iota(rows.begin(), rows.end(), 0U);
    auto replica = device->make_replica(network, training);
    EXPECT_TRUE(std::isfinite(replica->step({&data, rows}, {1, 0.01F})));
  }
}

/// Devices that merge without the host.
using Pair = std::pair<std::string, std::string>;
class Neighbours : public testing::TestWithParam<Pair> {};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Neighbours);
INSTANTIATE_TEST_SUITE_P(Devices, Neighbours, testing::ValuesIn(pairs_here()),
                         [](const auto& pair) { return test_name(pair.param.first); });

TEST_P(Neighbours, MergeBlocksAmongThemselves) {
  const Network network{.features = 50, .hidden = {20}, .labels = 30};
  const Layout layout = layout_of(network);
  const auto first = make_device(GetParam().first), second = make_device(GetParam().second);
  const auto owner = first->make_replica(network, {}), other = second->make_replica(network, {});
  const auto on_host = make_device("cpu:1")->make_replica(network, {});
  std::vector<Replica*> both{owner.get(), other.get()}, mixed{owner.get(), on_host.get()};
  const std::vector<float> weights{0.25F, 0.75F};
  constexpr float kOutside = 0.5F;  // sums are whole numbers
  for (const std::vector<std::uint32_t>& rows :
       {std::vector<std::uint32_t>{}, {49, 3, 17}, {0, 1, 2, 3, 4, 5, 6, 7}}) {
    const Blocks blocks = blocks_of(network, layout, rows);
    std::vector<float> one(layout.size), two(layout.size), sum(layout.size, kOutside), back(one);
    for (std::size_t i = 0; i < layout.size; ++i) {
      one[i] = static_cast<float>(i);
      two[i] = 4.0F - static_cast<float>(3 * i);
    }
    owner->load(0, one);
    other->load(0, two);
    EXPECT_FALSE(owner->sum_blocks(blocks, mixed, weights, sum));
    ASSERT_TRUE(owner->sum_blocks(blocks, both, weights, sum));
    std::vector<float> expected(layout.size, kOutside);
    for_blocks(blocks, layout.size, [&](std::size_t at, std::size_t n) {
      for (std::size_t i = at; i < at + n; ++i) expected[i] = 0.25F * one[i] + 0.75F * two[i];
    });
    EXPECT_EQ(sum, expected);
    for (Replica* replica : both) {
      ASSERT_TRUE(replica->adopt_blocks(blocks, *owner));
      const auto& before = replica == owner.get() ? one : two;
      replica->store(0, back);
      for (std::size_t i = 0; i < back.size(); ++i) {
        ASSERT_EQ(back[i], expected[i] == kOutside ? before[i] : expected[i]) << i;
      }
    }
  }
}

TEST(MakeDevice, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(make_device("cpu:2")->name(), "cpu:2");
  for (const std::string name : {"gpu", "cpu:", "cpu:0", "cpu:x", "cpu:2x", "cpu:-1", "cpu:9999"}) {
    EXPECT_ANY_THROW(make_device(name)) << name;
  }
}

}  // namespace
}  // namespace evener
