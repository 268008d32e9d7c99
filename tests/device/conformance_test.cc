// Every device does what the reference does: random networks, losses, optimizers and batches.
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "tests/device/random_data.h"
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
// whole, and two parts of it, and every CUDA card.
std::vector<std::string> devices_here() {
  std::vector<std::string> names;
  for (const auto& name : cpu::instruction_sets()) names.push_back("cpu/" + name);
  for (const auto& listed : opencl::list()) {
    if (!listed.usable) continue;
    const std::string whole = opencl::to_string(listed.place);
    names.push_back(whole);
    if (listed.processor && listed.compute_units > 1) {
      names.push_back(whole + ".0");
      names.push_back(whole + ".1");
    }
  }
  for (const auto& card : cuda::probe().cards) names.push_back(card.name);
  return names;
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
                         [](const auto& device) {
                           std::string name = device.param;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name;
                         });

// Cases are drawn from fixed seeds: rounding can carry a unit over relu's edge in one of them and
// not the other, so a test over fresh cases would fail once in a while without a fault.
constexpr std::uint64_t kCases = 80;

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

std::unique_ptr<Replica> make_replica(const Case& c, const std::string& device) {
  if (!device.starts_with("cpu/")) {
    return make_device(device, {.memory_limit = c.memory_limit, .cache_directory = ""})
        ->make_replica(c.network, c.training);
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

TEST_P(Conformance, PreparedBatchesChangeNothing) {
  const Case c = random_case(11);
  std::vector<std::uint32_t> rows(c.data.rows());
  std::iota(rows.begin(), rows.end(), 0U);
  const auto steps_of = [&](std::uint64_t number) {
    const std::size_t half = rows.size() / 2;
    const auto part = std::span(rows).subspan(number % 2 == 0 ? 0 : half, half);
    return NextStep{{&c.data, part}, {number, 0.05F}};
  };
  std::vector<std::vector<float>> ends;
  for (const bool prepared : {false, true}) {
    auto values = start_of(c);
    auto replica = make_replica(c, GetParam());
    replica->load(0, values);
    for (std::uint64_t number = 1; number <= 6; ++number) {
      const NextStep now = steps_of(number);
      // What comes after the third step is not what was announced.
      const NextStep next = steps_of(number == 3 ? 5 : number + 1);
      replica->step(now.batch, now.step, prepared ? &next : nullptr);
    }
    replica->store(0, values);
    ends.push_back(values);
  }
  EXPECT_EQ(ends[0], ends[1]);
}

TEST_P(Conformance, BlocksMoveAlone) {
  Case c = random_case(11);
  c.network.input = Input::sparse;
  c.network.hidden = {5};
  const Layout layout = layout_of(c.network);
  const std::vector<std::uint32_t> rows{c.network.features - 1, 0};
  const Blocks blocks = blocks_of(c.network, layout, rows);
  const auto inside = [&](std::size_t i) {
    return i >= blocks.dense || i / blocks.width == rows[0] || i / blocks.width == rows[1];
  };
  auto replica = make_replica(c, GetParam());
  const std::vector<float> zeros(layout.size), ones(layout.size, 1.0F), twos(layout.size, 2.0F);
  replica->load(0, ones);
  replica->load_blocks(0, blocks, twos);
  auto seen = zeros;
  replica->store(0, seen);
  for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], inside(i) ? 2.0F : 1.0F) << i;
  seen = zeros;
  std::vector<float> own(layout.size);
  std::iota(own.begin(), own.end(), 1.0F);
  replica->load(0, own);
  replica->store_blocks(0, blocks, seen);
  for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], inside(i) ? own[i] : 0.0F) << i;
  replica->load(0, ones);
  replica->clear_blocks(0, blocks);
  replica->store(0, seen);
  for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], inside(i) ? 0.0F : 1.0F) << i;
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

TEST(MakeDevice, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(make_device("cpu:2")->name(), "cpu:2");
  for (const std::string name : {"gpu", "cpu:", "cpu:0", "cpu:x", "cpu:2x", "cpu:-1", "cpu:9999"}) {
    EXPECT_ANY_THROW(make_device(name)) << name;
  }
}

}  // namespace
}  // namespace evener
