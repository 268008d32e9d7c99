// Every device computes the same results as the reference.
#include <cmath>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "tests/device/case.h"
#include "tests/device/devices_here.h"
#include "tests/device/operations.h"
#include "tests/device/random_data.h"
#include "tests/sanitized.h"
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/detail/Configuration.h>

#include "evener/device/cpu/kernels.h"
#include "evener/nn/reference.h"

namespace evener {
namespace {

class Conformance : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (on_cpu()) cpu::use_instruction_set(GetParam().substr(4));
  }
  void TearDown() override { cpu::use_instruction_set(instruction_sets().front()); }
  bool on_cpu() const { return GetParam().starts_with("cpu/"); }
};

INSTANTIATE_TEST_SUITE_P(Devices, Conformance, testing::ValuesIn(devices_here()),
                         [](const auto& device) { return test_name(device.param); });

// New random cases in every run; failures are shrunk and printed. RC_PARAMS="max_success=2000" in
// the environment runs more cases, RC_PARAMS="seed=N" repeats a failure.
rc::detail::TestParams few_cases(const std::string& device) {
  auto params = rc::detail::configuration().testParams;
  const int usual = rc::detail::TestParams().maxSuccess;
  const bool slow = kSanitized || device.starts_with("clblast/");
  if (params.maxSuccess == usual) params.maxSuccess = slow ? 4 : 20;
  return params;
}

TEST_P(Conformance, EveryOperationEqualsTheReference) {
  for (const Operation& operation : operations()) {
    rc::detail::TestMetadata metadata;
    metadata.id = metadata.description = operation.name + " on " + GetParam();
    const auto result = rc::detail::checkTestable([&] { operation.check(GetParam()); }, metadata,
                                                  few_cases(GetParam()));
    if (result.is<rc::detail::SuccessResult>()) continue;
    std::ostringstream message;
    rc::detail::printResultMessage(result, message);
    ADD_FAILURE() << metadata.id << "\n" << message.str();
  }
}

// The tests below draw their cases from fixed seeds: over many steps, rounding can move a unit
// across relu's edge on one device and not on the other.
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

void check_steps(const Case& c, const std::string& device, int epochs = 3) {
  auto expected = start_of(c);
  std::vector<std::vector<float>> state(
      static_cast<std::size_t>(state_vectors(c.training.optimizer)),
      std::vector<float>(expected.size()));
  auto replica = make_replica(c, device);
  replica->load(0, expected);
  auto rows = all_rows_of(c);
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

void check_predictions(const Case& c, const std::string& device) {
  const auto parameters = start_of(c);
  auto replica = make_replica(c, device);
  replica->load(0, parameters);
  const auto rows = all_rows_of(c);
  const Batch batch{&c.data, rows};
  const auto k = std::min<std::uint32_t>(5, c.network.labels);
  const Predictions want = reference::predict(c.network, parameters, batch, k);
  Predictions got;
  got.k = k;
  replica->predict(batch, got);
  ASSERT_TRUE(got.rows() == want.rows());
  ASSERT_TRUE(got.labels.size() == want.labels.size());
  for (std::size_t i = 0; i < want.scores.size(); ++i) {
    // Labels with scores that are equal up to rounding may be in any order.
    ASSERT_TRUE(std::abs(got.scores[i] - want.scores[i]) <= 1e-5 + 1e-4 * std::abs(want.scores[i]));
  }
  for (std::size_t r = 0; r < want.rows(); ++r) {
    ASSERT_TRUE(std::abs(got.losses[r] - want.losses[r]) <= 1e-4 * (1 + std::abs(want.losses[r])));
  }
}

// Enough labels and samples that an accelerator works on several chunks of labels and several
// slices of each; its memory limits how many chunks it keeps between its two passes.
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

// A layer whose gradient is too large for an accelerator's scratch, and is computed in pieces.
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
      const auto rows = all_rows_of(c);
      for (std::uint64_t number = 1; number <= 20; ++number) {
        replica->step({&c.data, rows}, {number, 0.05F});
      }
      replica->store(0, values);
      ends.push_back(values);
    }
    EXPECT_EQ(ends[0], ends[1]) << threads;
  }
}

// The gradient that a device computes, against finite differences of the loss that it computes.
// Rule `accumulate` leaves the gradient in vector 1.
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
    const auto rows = all_rows_of(c);
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
    c.network.activation = Activation::sigmoid;  // no edge, unlike relu
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

// The next batch is prepared during a step, and used only if it really is the next one.
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

}  // namespace
}  // namespace evener
