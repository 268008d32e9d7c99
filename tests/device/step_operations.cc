// Steps and predictions.
#include <algorithm>
#include <cmath>

#include "tests/device/case.h"
#include "tests/device/operations.h"
#include <fmt/format.h>
#include <rapidcheck.h>

#include "evener/nn/reference.h"

namespace evener {

namespace {

// Single steps and predictions: float against double, without amplification of rounding errors.
constexpr double kTolerance = 5e-5;

bool near(double actual, double expected) {
  return std::abs(actual - expected) <= kTolerance * (1 + std::abs(expected));
}

void check_step(const std::string& device, Loss loss, Optimizer optimizer, Input input) {
  const Case c = drawn_case(loss, optimizer, input);
  Vectors expected = drawn_vectors(c);
  auto replica = make_replica(c, device);
  for (std::size_t v = 0; v < expected.size(); ++v) {
    replica->load(static_cast<int>(v), expected[v]);
  }
  const bool exact_once = c.network.activation == Activation::relu;
  const int steps = exact_once ? 1 : *rc::gen::inRange(1, 4).as("steps");
  const auto first = *rc::gen::inRange<std::uint64_t>(1, 1000).as("first step");
  // The squared loss is a sum over labels: larger steps would diverge, and magnify rounding.
  const float rate =
      loss == Loss::squared ? std::min(0.05F, 1.0F / static_cast<float>(c.network.labels)) : 0.05F;
  auto rows = all_rows_of(c);
  Random random(c.training.seed, 3);
  for (int i = 0; i < steps; ++i) {
    random.shuffle(std::span(rows));
    const Batch batch{&c.data, std::span(rows).first(std::min(c.batch, rows.size()))};
    const Step step{first + static_cast<std::uint64_t>(i), rate};
    const double wanted = reference::step(c.network, c.training, batch, step, expected[0],
                                          std::span(expected).subspan(1));
    const double loss_before = replica->step(batch, step);
    RC_ASSERT(near(loss_before, wanted));
  }
  RC_ASSERT(replica->vectors() == static_cast<int>(expected.size()));
  std::vector<float> actual(expected[0].size());
  for (std::size_t v = 0; v < expected.size(); ++v) {
    replica->store(static_cast<int>(v), actual);
    RC_ASSERT(first_difference(c.network, actual, expected[v], kTolerance) == "");
  }
}

/// Labels with scores that are equal up to rounding may be in any order.
void check_best(const Predictions& got, const Predictions& all) {
  for (std::size_t row = 0; row < got.rows(); ++row) {
    for (std::uint32_t place = 0; place < got.k; ++place) {
      const std::size_t at = row * got.k + place;
      RC_ASSERT(near(got.scores[at], all.scores[row * all.k + place]));
      const auto* labels = all.labels.data() + row * all.k;
      const auto* own = std::find(labels, labels + all.k, got.labels[at]);
      RC_ASSERT(own != labels + all.k);
      RC_ASSERT(
          near(got.scores[at], all.scores[static_cast<std::size_t>(own - all.labels.data())]));
    }
    RC_ASSERT(near(got.losses[row], all.losses[row]));
  }
}

void check_prediction(const std::string& device, Loss loss, Input input) {
  const Case c = drawn_case(loss, Optimizer::sgd, input);
  const Vectors vectors = drawn_vectors(c);
  auto replica = make_replica(c, device);
  replica->load(0, vectors[0]);
  const auto rows = all_rows_of(c);
  const Batch batch{&c.data, rows};
  Predictions got;
  got.k = *rc::gen::inRange(1U, std::min(6U, c.network.labels + 1)).as("k");
  replica->predict(batch, got);
  const Predictions all = reference::predict(c.network, vectors[0], batch, c.network.labels);
  RC_ASSERT(got.rows() == all.rows());
  RC_ASSERT(got.labels.size() == got.rows() * got.k);
  check_best(got, all);
}

Timed prepare_step(std::shared_ptr<Rig> rig) {
  return [rig] {
    const NextStep next{rig->batch(rig->steps + 1), {rig->steps + 2, 1e-3F}};
    rig->replica->step(rig->batch(rig->steps), {rig->steps + 1, 1e-3F}, &next);
    ++rig->steps;
  };
}

Timed prepare_prediction(std::shared_ptr<Rig> rig) {
  return [rig] {
    Predictions out;
    out.k = 5;
    rig->replica->predict(rig->batch(rig->steps++), out);
  };
}

}  // namespace

void add_steps(std::vector<Operation>& table) {
  for (const Loss loss : {Loss::softmax, Loss::sigmoid, Loss::squared}) {
    for (const Input input : {Input::sparse, Input::dense}) {
      for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::momentum, Optimizer::adam,
                                        Optimizer::adagrad, Optimizer::accumulate}) {
        table.push_back(
            {fmt::format("step/{}/{}/{}", to_string(loss), to_string(optimizer), to_string(input)),
             [=](const std::string& device) { check_step(device, loss, optimizer, input); },
             [=](const Workload& workload, Device& device) {
               return prepare_step(std::make_shared<Rig>(workload, device, loss, optimizer, input));
             }});
      }
      table.push_back({fmt::format("predict/{}/{}", to_string(loss), to_string(input)),
                       [=](const std::string& device) { check_prediction(device, loss, input); },
                       [=](const Workload& workload, Device& device) {
                         return prepare_prediction(
                             std::make_shared<Rig>(workload, device, loss, Optimizer::adam, input));
                       }});
    }
  }
}

}  // namespace evener
