// Every device does what the reference does: random networks, losses, optimizers and batches.
#include <cctype>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/device/random_data.h"
#include "tests/sanitized.h"
#include <gtest/gtest.h>

#include "evener/device/cpu/cpu_device.h"
#include "evener/device/cpu/kernels.h"
#include "evener/device/cuda/probe.h"
#include "evener/device/device.h"
#include "evener/device/opencl/list.h"
#include "evener/nn/initialise.h"
#include "evener/nn/reference.h"

namespace evener {
namespace {

// Every device of this machine: the CPU with each of its instruction sets, every OpenCL device as a
// whole, two parts of it, and a processor with the layouts that cards get, and every CUDA card.
// Threads are the same in all instruction sets.
std::vector<std::string> devices_here() {
  std::vector<std::string> names;
  for (const auto& name : cpu::instruction_sets()) {
    if (!kThreadSanitized || names.empty()) names.push_back("cpu/" + name);
  }
  for (const auto& listed : opencl::list()) {
    if (!listed.usable) continue;
    const std::string whole = opencl::to_string(listed.place);
    names.push_back(whole);
    if (listed.processor && listed.compute_units > 1 && !kSanitized) {
      names.push_back("card/" + whole);
      names.push_back(whole + ".0");
      names.push_back(whole + ".1");
    }
  }
  for (const auto& card : cuda::probe().cards) names.push_back(card.name);
  return names;
}

std::string test_name(std::string device) {
  for (char& c : device) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return device;
}

class Conformance : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (on_cpu()) cpu::use_instruction_set(GetParam().substr(4));
  }
  void TearDown() override { cpu::use_instruction_set(cpu::instruction_sets().front()); }
  bool on_cpu() const { return GetParam().starts_with("cpu/"); }
};

INSTANTIATE_TEST_SUITE_P(Devices, Conformance, testing::ValuesIn(devices_here()),
                         [](const auto& device) { return test_name(device.param); });

// Cases are drawn from fixed seeds: rounding can carry a unit over relu's edge in one of them and
// not the other, so a test over fresh cases would fail once in a while without a fault.
constexpr std::uint64_t kCases = kSanitized ? 20 : 80;

struct Case {
  Network network;
  Training training;
  Dataset data;
  std::size_t batch;
  int threads;
  std::size_t keep_bytes;  // 1: nothing is kept, every tile is computed twice
  std::size_t memory_limit = 0;
  bool biased = false;  // biases start as random numbers, not as zeros
};

template <class T>
T one_of(Random& random, std::initializer_list<T> values) {
  return values.begin()[random.below(values.size())];
}

Case random_case(std::uint64_t seed) {
  Random random(seed);
  Case c;
  c.network.features = static_cast<std::uint32_t>(1 + random.below(60));
  const auto depth = random.below(4);
  for (std::uint64_t i = 0; i < depth; ++i) {
    c.network.hidden.push_back(
        static_cast<std::uint32_t>(1 + random.below(one_of(random, {5, 40, 140}))));
  }
  c.network.labels = static_cast<std::uint32_t>(2 + random.below(one_of(random, {10, 100, 400})));
  c.network.activation = one_of(random, {Activation::relu, Activation::sigmoid, Activation::tanh});
  c.network.loss = one_of(random, {Loss::softmax, Loss::sigmoid, Loss::squared});
  c.network.input = one_of(random, {Input::sparse, Input::sparse, Input::dense});
  c.training.optimizer =
      one_of(random, {Optimizer::sgd, Optimizer::momentum, Optimizer::adam, Optimizer::adagrad});
  c.training.epsilon = 1e-3F;  // keeps adam's first steps from magnifying rounding
  c.training.l2 = one_of(random, {0.0F, 0.01F});
  c.training.clip = one_of(random, {0.0F, 0.0F, 0.05F});
  c.training.dropout = one_of(random, {0.0F, 0.0F, 0.4F});
  c.training.input_dropout = one_of(random, {0.0F, 0.0F, 0.3F});
  c.training.seed = seed;
  c.data = random_data(random, 1 + random.below(90), c.network.features, c.network.labels);
  c.batch = 1 + random.below(80);
  c.threads = one_of(random, {1, 2, 3});
  c.keep_bytes = one_of<std::size_t>(random, {1, 200'000, 0});
  return c;
}

std::vector<float> start_of(const Case& c) {
  std::vector<float> parameters(layout_of(c.network).size);
  initialise(c.network, c.training.seed, parameters);
  Random random(c.training.seed, 8);
  for (const LayerSegments& layer : layout_of(c.network).layers) {
    for (std::size_t i = 0; c.biased && i < layer.bias.cols; ++i) {
      parameters[layer.bias.offset + i] = static_cast<float>(2 * random.uniform() - 1);
    }
  }
  return parameters;
}

double worst_difference(std::span<const float> a, std::span<const float> b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(a[i]) - b[i]) /
                                (1.0 + std::abs(static_cast<double>(b[i]))));
  }
  return worst;
}

std::unique_ptr<Device> open_device(const std::string& name, std::size_t memory_limit = 0) {
  const bool as_card = name.starts_with("card/");
  return make_device(as_card ? name.substr(5) : name,
                     {.memory_limit = memory_limit, .cache_directory = "", .as_card = as_card});
}

std::unique_ptr<Replica> make_replica(const Case& c, const std::string& device) {
  if (!device.starts_with("cpu/")) {
    return open_device(device, c.memory_limit)->make_replica(c.network, c.training);
  }
  return cpu::make_cpu_device({.threads = c.threads, .keep_bytes = c.keep_bytes})
      ->make_replica(c.network, c.training);
}

void check_steps(const Case& c, const std::string& device, int epochs = 3) {
  auto expected = start_of(c);
  std::vector<std::vector<float>> state(
      static_cast<std::size_t>(state_vectors(c.training.optimizer)),
      std::vector<float>(expected.size()));
  auto replica = make_replica(c, device);
  replica->load(0, expected);
  std::vector<std::uint32_t> rows(c.data.rows());
  std::iota(rows.begin(), rows.end(), 0U);
  Random(c.training.seed, 9).shuffle(std::span(rows));
  std::uint64_t number = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (std::size_t at = 0; at < rows.size(); at += c.batch) {
      const Batch batch{&c.data, std::span(rows).subspan(at, std::min(c.batch, rows.size() - at))};
      const Step step{++number, 0.05F};
      const double want = reference::step(c.network, c.training, batch, step, expected, state);
      const double got = replica->step(batch, step);
      ASSERT_TRUE(std::abs(want - got) <= 2e-4 * (1 + std::abs(want)));
    }
  }
  std::vector<float> actual(expected.size());
  replica->store(0, actual);
  ASSERT_TRUE(worst_difference(actual, expected) < 2e-3);
  for (int v = 1; v < replica->vectors(); ++v) {
    replica->store(v, actual);
    ASSERT_TRUE(worst_difference(actual, state[static_cast<std::size_t>(v) - 1]) < 2e-3);
  }
}

TEST_P(Conformance, StepsEqualTheReference) {
  for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
    const Case c = random_case(seed);
    check_steps(c, GetParam());
    ASSERT_FALSE(HasFailure()) << "of case " << seed;
  }
}

void check_predictions(const Case& c, const std::string& device) {
  const auto parameters = start_of(c);
  auto replica = make_replica(c, device);
  replica->load(0, parameters);
  std::vector<std::uint32_t> rows(c.data.rows());
  std::iota(rows.begin(), rows.end(), 0U);
  const Batch batch{&c.data, rows};
  const auto k = std::min<std::uint32_t>(5, c.network.labels);
  const Predictions want = reference::predict(c.network, parameters, batch, k);
  Predictions got;
  got.k = k;
  replica->predict(batch, got);
  ASSERT_TRUE(got.rows() == want.rows());
  ASSERT_TRUE(got.labels.size() == want.labels.size());
  for (std::size_t i = 0; i < want.scores.size(); ++i) {
    // Labels whose scores are equal but for rounding may change places.
    ASSERT_TRUE(std::abs(got.scores[i] - want.scores[i]) <= 1e-5 + 1e-4 * std::abs(want.scores[i]));
  }
  for (std::size_t r = 0; r < want.rows(); ++r) {
    ASSERT_TRUE(std::abs(got.losses[r] - want.losses[r]) <= 1e-4 * (1 + std::abs(want.losses[r])));
  }
}

TEST_P(Conformance, PredictionsEqualTheReference) {
  for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
    const Case c = random_case(seed);
    check_predictions(c, GetParam());
    ASSERT_FALSE(HasFailure()) << "of case " << seed;
  }
}

// Padding is zero before and after, whatever the optimizer: rows and segments can be moved whole.
void check_padding(const Case& c, const std::string& device) {
  auto values = start_of(c);
  auto replica = make_replica(c, device);
  replica->load(0, values);
  std::vector<std::uint32_t> rows(c.data.rows());
  std::iota(rows.begin(), rows.end(), 0U);
  for (std::uint64_t number = 1; number <= 3; ++number) {
    replica->step({&c.data, rows}, {number, 0.05F});
  }
  for (int v = 0; v < replica->vectors(); ++v) {
    replica->store(v, values);
    for (const Segment& segment : layout_of(c.network).segments()) {
      for (std::size_t r = 0; r < segment.rows; ++r) {
        for (std::size_t i = segment.cols; i < segment.stride; ++i) {
          ASSERT_TRUE(values[segment.offset + r * segment.stride + i] == 0.0F);
        }
      }
    }
  }
}

TEST_P(Conformance, PaddingStaysZero) {
  for (std::uint64_t seed = 1; seed <= kCases; ++seed) check_padding(random_case(seed), GetParam());
}

// Enough labels and samples that an accelerator works on several chunks of labels and several
// slices of each; what it has room for decides how many chunks it keeps between its two walks.
Case many_labels(Loss loss) {
  Random random(5);
  Case c;
  c.network.features = 40;
  c.network.hidden = {3};
  c.network.labels = 15'000;
  c.network.loss = loss;
  c.training.optimizer = Optimizer::adagrad;
  c.training.epsilon = 1e-3F;
  c.training.clip = 0.01F;
  c.data = random_data(random, 300, c.network.features, c.network.labels);
  c.batch = 300;
  c.threads = 2;
  c.keep_bytes = 1'000'000;
  c.biased = true;
  return c;
}

TEST_P(Conformance, ManyLabels) {
  for (const Loss loss : {Loss::softmax, Loss::sigmoid}) {
    check_steps(many_labels(loss), GetParam(), 1);
    ASSERT_FALSE(HasFailure()) << to_string(loss);
  }
  check_predictions(many_labels(Loss::softmax), GetParam());
}

TEST_P(Conformance, ManyLabelsAndLittleRoom) {
  if (on_cpu()) return;  // it has no memory of its own to run out of
  Case c = many_labels(Loss::softmax);
  for (const std::size_t limit : {12'000'000, 45'000'000}) {
    c.memory_limit = limit;
    check_steps(c, GetParam(), 1);
    ASSERT_FALSE(HasFailure()) << limit;
  }
}

// A layer whose gradient is too large for an accelerator's scratch, and is worked out in pieces.
TEST_P(Conformance, WideLayer) {
  Random random(6);
  Case c;
  c.network = {.features = 4'100, .hidden = {}, .labels = 5'000, .loss = Loss::sigmoid};
  c.training.optimizer = Optimizer::sgd;
  c.training.clip = 0.5F;
  c.biased = true;
  c.data = random_data(random, 2, c.network.features, c.network.labels);
  c.batch = 2;
  c.threads = 2;
  c.keep_bytes = 0;
  check_steps(c, GetParam(), 1);
}

TEST_P(Conformance, SameSeedAndThreadsSameBits) {
  for (const int threads : {1, 2, 4}) {
    Case c = random_case(11);
    c.threads = threads;
    std::vector<std::vector<float>> ends;
    for (int repeat = 0; repeat < 2; ++repeat) {
      auto values = start_of(c);
      auto replica = make_replica(c, GetParam());
      replica->load(0, values);
      std::vector<std::uint32_t> rows(c.data.rows());
      std::iota(rows.begin(), rows.end(), 0U);
      for (std::uint64_t number = 1; number <= 20; ++number) {
        replica->step({&c.data, rows}, {number, 0.05F});
      }
      replica->store(0, values);
      ends.push_back(values);
    }
    EXPECT_EQ(ends[0], ends[1]) << threads;
  }
}

// The gradient that a device works out, against differences of the loss that it works out itself:
// two statements of one derivative. Rule `accumulate` leaves the gradient in vector 1.
TEST_P(Conformance, GradientsEqualFiniteDifferences) {
  for (const Loss loss : {Loss::softmax, Loss::sigmoid, Loss::squared}) {
    Case c = random_case(5);
    c.network = {.features = 12, .hidden = {7, 5}, .labels = 9};
    c.network.activation = Activation::tanh;  // smooth everywhere
    c.network.loss = loss;
    c.training = {};
    c.training.optimizer = Optimizer::accumulate;
    Random random(77);
    c.data = random_data(random, 20, 12, 9);
    std::vector<std::uint32_t> rows(c.data.rows());
    std::iota(rows.begin(), rows.end(), 0U);
    const Batch batch{&c.data, rows};
    auto values = start_of(c);
    auto replica = make_replica(c, GetParam());
    replica->load(0, values);
    replica->step(batch, {1, 0.05F});
    std::vector<float> gradient(values.size());
    replica->store(1, gradient);
    const auto loss_at = [&](std::size_t i, float value) {
      auto moved = values;
      moved[i] = value;
      replica->load(0, moved);
      Predictions out;
      out.k = 1;
      replica->predict(batch, out);
      return std::accumulate(out.losses.begin(), out.losses.end(), 0.0) /
             static_cast<double>(rows.size());
    };
    for (const Segment& segment : layout_of(c.network).segments()) {
      for (int sample = 0; sample < 12; ++sample) {
        const std::size_t i = segment.offset + random.below(segment.rows) * segment.stride +
                              random.below(segment.cols);
        constexpr float kStep = 0.02F;
        const double slope =
            (loss_at(i, values[i] + kStep) - loss_at(i, values[i] - kStep)) / (2 * kStep);
        EXPECT_NEAR(gradient[i], slope, 2e-3 * (1 + std::abs(slope))) << segment.name;
      }
    }
  }
}

TEST_P(Conformance, FiftyStepsEndWhereTheCpusDo) {
  for (const std::uint64_t seed : {3, 21, 40}) {
    Case c = random_case(seed);
    c.network.activation = Activation::sigmoid;  // no edge that rounding could carry a unit over
    const auto start = start_of(c);
    std::vector<std::vector<float>> ends;
    for (const std::string& device : {std::string("cpu/reference"), GetParam()}) {
      auto replica = device == GetParam()
                         ? make_replica(c, device)
                         : make_device("cpu:1")->make_replica(c.network, c.training);
      replica->load(0, start);
      for (std::uint64_t number = 1; number <= 50; ++number) {
        std::vector<std::uint32_t> rows;
        for (std::size_t i = 0; i < std::min<std::size_t>(c.batch, c.data.rows()); ++i) {
          rows.push_back(static_cast<std::uint32_t>((number * 7 + i) % c.data.rows()));
        }
        replica->step({&c.data, rows}, {number, 0.05F});
      }
      ends.emplace_back(start.size());
      replica->store(0, ends.back());
    }
    EXPECT_LT(worst_difference(ends[1], ends[0]), 5e-3) << seed;
  }
}

TEST_P(Conformance, BlocksAreCopiedAndNothingElse) {
  Case c = random_case(8);
  c.network = {.features = 50, .hidden = {20}, .labels = 30};
  c.training = {};
  const Layout layout = layout_of(c.network);
  auto replica = make_replica(c, GetParam());
  std::vector<float> values(layout.size), other(layout.size), back(layout.size, -1.0F);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i);
    other[i] = 0.5F + static_cast<float>(i);
  }
  const std::vector<std::uint32_t> rows{49, 3, 17};
  const Blocks blocks = blocks_of(c.network, layout, rows);
  const auto inside = [&](std::size_t i) {
    return i >= blocks.dense ||
           std::count(rows.begin(), rows.end(), static_cast<std::uint32_t>(i / blocks.width)) > 0;
  };
  replica->load(1, values);
  replica->load_blocks(1, blocks, other);
  replica->store(1, back);
  for (std::size_t i = 0; i < back.size(); ++i) ASSERT_EQ(back[i], (inside(i) ? other : values)[i]);
  std::fill(back.begin(), back.end(), -1.0F);
  replica->store_blocks(1, blocks, back);
  for (std::size_t i = 0; i < back.size(); ++i) ASSERT_EQ(back[i], inside(i) ? other[i] : -1.0F);
  replica->clear_blocks(1, blocks);
  replica->store(1, back);
  for (std::size_t i = 0; i < back.size(); ++i) ASSERT_EQ(back[i], inside(i) ? 0.0F : values[i]);
}

// The next batch is made ready while this one is computed, and used only if it is the next.
TEST_P(Conformance, AHintAboutTheNextStepChangesNothing) {
  Case c = random_case(30);
  c.training.input_dropout = 0.3F;
  const auto start = start_of(c);
  std::vector<std::vector<float>> ends;
  for (const int hints : {0, 1, 2}) {  // none, true ones, wrong ones
    auto replica = make_replica(c, GetParam());
    replica->load(0, start);
    for (std::uint32_t number = 1; number <= 12; ++number) {
      const std::uint32_t count = static_cast<std::uint32_t>(c.data.rows());
      const std::vector<std::uint32_t> rows{number % count, (number * 3 + 1) % count};
      const std::uint32_t after = hints == 1 ? number + 1 : number + 2;
      const std::vector<std::uint32_t> next_rows{after % count, (after * 3 + 1) % count};
      const NextStep next{{&c.data, next_rows}, {after, 0.05F}};
      replica->step({&c.data, rows}, {number, 0.05F}, hints == 0 ? nullptr : &next);
    }
    ends.emplace_back(start.size());
    replica->store(0, ends.back());
  }
  EXPECT_EQ(ends[1], ends[0]);
  EXPECT_EQ(ends[2], ends[0]);
}

class Accelerator : public testing::TestWithParam<std::string> {};

std::vector<std::string> accelerators_here() {
  std::vector<std::string> names = devices_here();
  std::erase_if(names, [](const std::string& name) { return name.starts_with("cpu/"); });
  return names;
}

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

std::vector<Pair> pairs_here() {
  std::vector<Pair> pairs;
  for (const auto& listed : opencl::list()) {
    const std::string whole = opencl::to_string(listed.place);
    if (listed.usable && listed.processor && listed.compute_units > 1) {
      pairs.emplace_back(whole + ".0", whole + ".1");
    }
  }
  const auto cards = cuda::probe().cards;
  if (cards.size() > 1) pairs.emplace_back(cards[0].name, cards[1].name);
  return pairs;
}

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
