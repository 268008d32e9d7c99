// Checkpoints and models that cannot be written while a run trains, and at its end.
#include <algorithm>
#include <filesystem>
#include <optional>

#include "tests/run/artifacts/file_limit.h"
#include "tests/run/session/train_fixture.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/core/error.h"
#include "evener/run/artifacts/checkpoint.h"

namespace evener {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr const char* kWarning = "cannot save the run: ";
constexpr std::uint64_t kSteps = 7;  // of an epoch: 100 rows by 16

class SaveFailures : public TrainFixture {
 protected:
  SaveFailures() {
    options_.epochs = 4;
    options_.checkpoint_every = 1;
  }

  /// Writes fail from the first step of epoch `from` to that of epoch `to`, both counted from 0.
  void fail_between(std::uint64_t from, std::uint64_t to) {
    hooks_.before_step = [this, from, to](const Batch&, const Step& step) {
      const std::uint64_t done = step.number - 1;
      if (done == from * kSteps) limit_.emplace(64);
      if (done == to * kSteps) limit_.reset();
    };
  }
  /// The message of the run's Error.
  std::string error_of(const std::string& name, long interrupt_at = -1) {
    try {
      run(name, interrupt_at);
    } catch (const Error& error) {
      limit_.reset();
      return error.what();
    }
    limit_.reset();
    return "no error";
  }
  std::uint64_t saved_step(const std::string& name) {
    const auto loaded = load_checkpoint(folder_ / (name + "/checkpoints"), {});
    return loaded ? loaded->progress.step : 0;
  }
  static std::size_t warnings(const TrainResult& result) {
    return static_cast<std::size_t>(std::count_if(
        result.notes.begin(), result.notes.end(),
        [](const std::string& note) { return note.find(kWarning) != std::string::npos; }));
  }

  std::optional<FileLimit> limit_;
};

TEST_F(SaveFailures, TrainingGoesOnAndALaterCheckpointIsWritten) {
  run("undisturbed");
  fail_between(1, 3);  // the checkpoints after epochs 2 and 3 fail
  const TrainResult result = run("run");
  EXPECT_EQ(result.ended, "epochs");
  EXPECT_EQ(result.progress.epoch, 4U);
  EXPECT_EQ(warnings(result), 1U) << testing::PrintToString(result.notes);
  EXPECT_EQ(saved_step("run"), 4 * kSteps);
  EXPECT_EQ(model("run", "last"), model("undisturbed", "last"));
  EXPECT_EQ(model("run", "best"), model("undisturbed", "best"));
}

TEST_F(SaveFailures, WritingAgainIsReported) {
  fail_between(1, 2);
  const TrainResult result = run("run");
  EXPECT_THAT(result.notes, testing::Contains("checkpoints are written again"));
}

TEST_F(SaveFailures, AtTheEndTheyAreAnErrorAndTheEarlierCheckpointStays) {
  fail_between(2, 100);  // to the end
  EXPECT_THAT(error_of("run"), HasSubstr("File too large"));
  EXPECT_EQ(saved_step("run"), 2 * kSteps);
  hooks_.before_step = {};
  EXPECT_EQ(resume("run").progress.epoch, 4U);
}

TEST_F(SaveFailures, OnASignalTheyAreAnError) {
  hooks_.before_step = [this](const Batch&, const Step& step) {
    if (step.number < 2 * kSteps + 3) return;
    if (!limit_) limit_.emplace(64);
    send_signal();
  };
  EXPECT_THAT(error_of("run"), HasSubstr("File too large"));
  EXPECT_EQ(saved_step("run"), 2 * kSteps);
}

/// A file is where the folder of checkpoints has to be.
TEST_F(SaveFailures, TheModelIsStillSavedWithoutTheCheckpoint) {
  hooks_.before_step = [this](const Batch&, const Step& step) {
    if (step.number != 3 * kSteps + 1) return;
    fs::rename(folder_ / "run/checkpoints", folder_ / "moved");
    put_contents(folder_ / "run/checkpoints", "in the way");
  };
  EXPECT_THAT(error_of("run"), HasSubstr("run/checkpoints"));
  hooks_.before_step = {};
  run("undisturbed");
  EXPECT_EQ(model("run", "last"), model("undisturbed", "last"));
}

/// The best epoch is the first one: later epochs do not write the best model again.
TEST_F(SaveFailures, TheBestModelIsWrittenLater) {
  options_.learning_rate = 0;  // no epoch is better than the first one
  options_.epochs = 2;
  run("undisturbed");
  hooks_.before_step = [this](const Batch&, const Step& step) {
    const fs::path best = folder_ / "run/best.safetensors";
    if (step.number == 1) fs::create_directories(best / "in the way");
    if (step.number == kSteps + 1) fs::remove_all(best);
  };
  const TrainResult result = run("run");
  EXPECT_EQ(warnings(result), 1U);
  EXPECT_EQ(model("run", "best"), model("undisturbed", "best"));
}

}  // namespace
}  // namespace evener
