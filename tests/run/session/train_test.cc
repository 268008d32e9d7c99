#include "evener/run/session/train.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "tests/run/session/train_fixture.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "evener/run/session/data.h"
#include "evener/run/session/evaluate.h"
#include "evener/runtime/plan.h"

namespace evener {
namespace {

using testing::HasSubstr;

class Train : public TrainFixture {};

TEST_F(Train, LearnsAndLeavesEverythingBehind) {
  options_.epochs = 20;
  const TrainResult result = run("run");
  EXPECT_EQ(result.ended, "epochs");
  EXPECT_EQ(result.progress.epoch, 20U);
  EXPECT_EQ(result.progress.step, 20U * 7U);  // 100 rows by 16
  EXPECT_GT(result.metrics.at("p@1"), 0.95);
  EXPECT_EQ(result.metrics.count("psp@5"), 1U);
  EXPECT_THAT(names_in(folder_ / "run"),
              testing::IsSupersetOf({"best.safetensors", "last.safetensors", "checkpoints",
                                     "config.toml", "log.txt", "metrics.jsonl", "tensorboard"}));
}

TEST_F(Train, EveryRowOnceAnEpochWithTheScheduledRate) {
  std::map<std::uint32_t, int> seen;
  std::vector<std::uint64_t> numbers;
  std::vector<float> rates;
  hooks_.before_step = [&](const Batch& batch, const Step& step) {
    for (const auto row : batch.rows) ++seen[row];
    numbers.push_back(step.number);
    rates.push_back(step.learning_rate);
  };
  options_.warmup_epochs = 1;
  run("run");
  EXPECT_EQ(seen.size(), 100U);
  for (const auto& [row, times] : seen) EXPECT_EQ(times, 3) << row;
  for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], i + 1);
  ASSERT_EQ(rates.size(), 21U);
  EXPECT_TRUE(std::is_sorted(rates.begin(), rates.begin() + 7));
  EXPECT_LT(rates[0], rates[6]);
  for (std::size_t i = 7; i < rates.size(); ++i) EXPECT_EQ(rates[i], 0.01F);
}

TEST_F(Train, HeldOutRowsAreNeverTrainedOn) {
  std::set<std::uint32_t> trained;
  hooks_.before_step = [&](const Batch& batch, const Step&) {
    trained.insert(batch.rows.begin(), batch.rows.end());
  };
  options_.test.clear();
  options_.validation_share = 0.2;
  const TrainResult result = run("run");
  EXPECT_EQ(trained.size(), 80U);
  EXPECT_EQ(result.metrics.count("p@1"), 1U);

  const TrainingData data = open_training_data(options_, {}, [](const std::string&) {});
  EXPECT_EQ(data.rows.size(), 80U);
  ASSERT_TRUE(data.evaluation);
  ASSERT_EQ(data.evaluation->rows(), 20U);
  // The two parts are a partition of the file: each kind of row occurs as often as before.
  const auto row_text = [](const Dataset& set, std::size_t row) {
    std::string text;
    for (const auto i : set.labels.row(row).indices) text += std::to_string(i) + ",";
    for (const auto i : set.features.row(row).indices) text += " " + std::to_string(i);
    return text;
  };
  std::multiset<std::string> all, parts;
  for (std::size_t r = 0; r < 100; ++r) all.insert(row_text(data.train, r));
  for (const auto r : data.rows) parts.insert(row_text(data.train, r));
  for (std::size_t r = 0; r < 20; ++r) parts.insert(row_text(*data.evaluation, r));
  EXPECT_EQ(all, parts);
}

TEST_F(Train, BestIsTheBestAndLastIsTheLast) {
  std::vector<std::vector<float>> after_epoch;
  std::vector<float> latest;
  hooks_.after_step = [&](std::span<const float> p) { latest.assign(p.begin(), p.end()); };
  hooks_.before_predict = [&](const Batch&) { after_epoch.push_back(latest); };
  options_.epochs = 12;
  options_.learning_rate = 0.2;  // oscillates, so that the best is not the last
  options_.optimizer = "sgd";
  const TrainResult result = run("run");
  const auto best = result.progress.best_epoch;
  ASSERT_GE(best, 1U);
  const Model best_model = load_model(folder_ / "run/best.safetensors");
  const Model last_model = load_model(folder_ / "run/last.safetensors");
  EXPECT_EQ(bits(best_model.parameters.span()), bits(after_epoch.at(best - 1)));
  EXPECT_EQ(bits(last_model.parameters.span()), bits(after_epoch.back()));
}

TEST_F(Train, StopsEarlyWhenTheMetricStaysAway) {
  options_.epochs = 50;
  options_.early_stop = "p@1";
  options_.patience = 3;
  options_.learning_rate = 1e-9;  // no progress, so the first epoch stays the best
  const TrainResult result = run("run");
  EXPECT_EQ(result.ended, "early stop");
  EXPECT_EQ(result.progress.best_epoch, 1U);
  EXPECT_EQ(result.progress.epoch, 4U);
  // Resuming does not train further.
  EXPECT_EQ(resume("run").progress.epoch, 4U);
}

TEST_F(Train, AverageIsTheMeanOfTheLastEpochs) {
  std::vector<std::vector<float>> after_step;
  hooks_.after_step = [&](std::span<const float> p) {
    after_step.emplace_back(p.begin(), p.end());
  };
  options_.epochs = 5;
  options_.average = 3;
  run("run");
  const Model last = load_model(folder_ / "run/last.safetensors");
  ASSERT_EQ(after_step.size(), 35U);
  double difference = 0;
  for (std::size_t i = 0; i < last.parameters.size(); ++i) {
    const double mean =
        (static_cast<double>(after_step[20][i]) + after_step[27][i] + after_step[34][i]) / 3;
    difference = std::max(difference, std::abs(mean - last.parameters[i]));
  }
  EXPECT_LT(difference, 1e-6);
}

TEST_F(Train, DenseInputIsChosenByDensity) {
  put_contents(folder_ / "train.txt", "0 0:1 1:1 2:1\n1 0:1 1:2 3:1\n0 0:1 2:2 3:1\n");
  options_.test.clear();
  run("dense");
  EXPECT_EQ(load_model(folder_ / "dense/last.safetensors").network.input, Input::dense);
  options_.input = "sparse";
  run("sparse");
  EXPECT_EQ(load_model(folder_ / "sparse/last.safetensors").network.input, Input::sparse);
}

TEST_F(Train, DivergenceStopsAndKeepsTheLastGoodCheckpoint) {
  int steps = 0;
  hooks_.change_loss = [&](double loss) {
    return ++steps == 12 ? std::numeric_limits<double>::quiet_NaN() : loss;
  };
  options_.checkpoint_every = 1;
  EXPECT_THAT(error_of([&] { run("run"); }),
              testing::AllOf(HasSubstr("step 12"), HasSubstr("--learning-rate"),
                             HasSubstr("--resume " + (folder_ / "run"))));
  const auto kept = load_checkpoint(folder_ / "run/checkpoints", {});
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->progress.step, 7U);
  EXPECT_THAT(contents_of(folder_ / "run/log.txt"), HasSubstr("error: the loss of step 12"));
}

TEST_F(Train, AnInfiniteWeightIsNeverSaved) {
  options_.learning_rate = 1e38;
  options_.optimizer = "sgd";
  options_.test.clear();
  options_.epochs = 1;
  options_.global_batch_size = 100;  // one step, with a finite loss
  options_.l2 = 1e30;
  EXPECT_THROW(run("run"), DivergedError);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run/last.safetensors"));
}

TEST_F(Train, BadDataLeavesNoRunDirectory) {
  put_contents(folder_ / "train.txt", "2 20 6\n0 1:1\n1 99:1\n");
  EXPECT_THAT(error_of([&] { run("run"); }), HasSubstr("train.txt:3:"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
}

TEST_F(Train, AnExistingRunIsNotOverwritten) {
  run("run");
  const std::string before = model("run", "last");
  EXPECT_THAT(error_of([&] { run("run"); }), HasSubstr("--resume"));
  EXPECT_EQ(model("run", "last"), before);
}

TEST_F(Train, MetricsAreRecorded) {
  run("run");
  std::istringstream lines(contents_of(folder_ / "run/metrics.jsonl"));
  std::map<std::string, int> kinds;
  nlohmann::json end;
  for (std::string line; std::getline(lines, line);) {
    const auto record = nlohmann::json::parse(line);
    ++kinds[record.at("kind")];
    if (record.at("kind") == "end") end = record;
  }
  EXPECT_EQ(kinds["epoch"], 3);
  EXPECT_EQ(kinds["eval"], 3);
  EXPECT_EQ(kinds["end"], 1);
  EXPECT_GT(kinds["step"], 3);
  EXPECT_EQ(end.at("ended"), "epochs");
  EXPECT_TRUE(end.at("p@1").is_number());
}

TEST_F(Train, ModelsKeepTheTransformAndPredictAlike) {
  options_.tfidf = true;
  options_.hash_features = 64;
  const TrainResult result = run("run");
  const Model saved = load_model(folder_ / "run/last.safetensors");
  EXPECT_EQ(saved.raw_features, 20U);
  const Dataset data = open_data_for(saved, options_.test, {}, [](const std::string&) {});
  ReferenceReplica replica(saved.network, Training{}, hooks_);
  replica.load(0, saved.parameters.span());
  const auto predictions = predict_all(replica, data, kEvaluationTop);
  EXPECT_EQ(evaluate(*predictions, data.labels, data.label_count, saved.inverse_propensity),
            result.metrics);
}

TEST_F(Train, MetricsOfAnInterruptedRunAreThoseOfItsLastEvaluation) {
  const TrainResult whole = run("whole");
  EXPECT_TRUE(whole.metrics_are_final);
  EXPECT_EQ(whole.metrics_epoch, 3U);
  const std::uint64_t steps = whole.progress.step / 3;
  long at = 0;  // counts the checks for a signal, to find one inside an epoch
  TrainResult cut;
  do {
    std::filesystem::remove_all(folder_ / "cut");
    cut = run("cut", at++);
  } while (cut.progress.step % steps == 0 || cut.progress.epoch == 0);
  EXPECT_EQ(cut.ended, "signal");
  EXPECT_FALSE(cut.metrics_are_final);
  EXPECT_EQ(cut.metrics_epoch, cut.progress.epoch);
}

}  // namespace
}  // namespace evener
