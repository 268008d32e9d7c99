// Checkpoints whose contents follow from their step, so that a loaded one can be verified.
#pragma once

#include <string>

#include "tests/run/support.h"

#include "evener/run/artifacts/checkpoint.h"

namespace evener {

inline Checkpoint checkpoint_of(std::uint64_t step, std::size_t states = 2) {
  Checkpoint checkpoint;
  checkpoint.model = small_model(step);
  for (std::size_t i = 0; i < states; ++i) {
    checkpoint.state.push_back(random_vector(checkpoint.model.network, step * 100 + i));
  }
  for (const char* name : {"server.momentum", "worker1.2"}) {
    checkpoint.kept[name] = random_vector(checkpoint.model.network, step * 100 + 90 + name[0]);
  }
  checkpoint.progress.step = step;
  checkpoint.progress.epoch = step / 10;
  checkpoint.progress.train_loss_sum = 0.1 * static_cast<double>(step);
  checkpoint.options = {{"strategy", "adaptive-sgd"}, {"step", std::to_string(step)}};
  return checkpoint;
}

inline void expect_equal(const Checkpoint& a, const Checkpoint& b) {
  expect_equal(a.model, b.model);
  ASSERT_EQ(a.state.size(), b.state.size());
  for (std::size_t i = 0; i < a.state.size(); ++i) {
    EXPECT_EQ(bits(a.state[i].span()), bits(b.state[i].span())) << "state " << i;
  }
  ASSERT_EQ(a.kept.size(), b.kept.size());
  for (const auto& [name, values] : a.kept) {
    ASSERT_TRUE(b.kept.contains(name)) << name;
    EXPECT_EQ(bits(values.span()), bits(b.kept.at(name).span())) << name;
  }
  EXPECT_EQ(a.progress.step, b.progress.step);
  EXPECT_EQ(a.progress.epoch, b.progress.epoch);
  EXPECT_EQ(a.progress.next_row, b.progress.next_row);
  EXPECT_EQ(a.progress.best_epoch, b.progress.best_epoch);
  EXPECT_EQ(a.progress.epochs_since_best, b.progress.epochs_since_best);
  EXPECT_EQ(a.progress.worker_steps, b.progress.worker_steps);
  EXPECT_EQ(a.progress.train_loss_sum, b.progress.train_loss_sum);
  EXPECT_EQ(a.progress.best_metric, b.progress.best_metric);
  EXPECT_EQ(a.progress.seconds, b.progress.seconds);
  EXPECT_EQ(a.progress.training_seconds, b.progress.training_seconds);
  EXPECT_EQ(a.progress.averaged, b.progress.averaged);
  EXPECT_EQ(a.options, b.options);
}

/// Loads the newest checkpoint, which must be complete, load without a warning, and match its step.
inline std::uint64_t intact_step(const std::string& directory) {
  std::string warnings;
  const auto loaded =
      load_checkpoint(directory, [&](const std::string& text) { warnings += text + "\n"; });
  EXPECT_EQ(warnings, "");
  EXPECT_TRUE(loaded.has_value());
  if (!loaded) return 0;
  expect_equal(*loaded, checkpoint_of(loaded->progress.step));
  return loaded->progress.step;
}

}  // namespace evener
