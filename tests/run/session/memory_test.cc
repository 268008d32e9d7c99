// Training from CSR arrays in memory, and without a run directory.
#include <filesystem>

#include "tests/run/session/train_fixture.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/data/read.h"
#include "evener/run/session/run_session.h"

namespace evener {
namespace {

using testing::HasSubstr;

CsrArrays copy_of(const CsrView& rows) {
  CsrArrays arrays;
  arrays.offsets.assign(rows.offsets.begin(), rows.offsets.end());
  arrays.indices.assign(rows.indices.begin(), rows.indices.end());
  arrays.values.assign(rows.values.begin(), rows.values.end());
  return arrays;
}

/// The rows of a file as arrays in memory.
Dataset in_memory(const std::string& path) {
  const Dataset read = read_dataset(path, {});
  return make_dataset(copy_of(read.features), read.feature_count, copy_of(read.labels),
                      read.label_count);
}

class InMemory : public TrainFixture {
 protected:
  InMemory() {
    in_memory_ = options_;
    in_memory_.data.clear();
    in_memory_.test.clear();
    in_memory_.output.clear();
    without_directory_ = context_;
    without_directory_.writes_directory = false;
    without_directory_.returns_models = true;
  }
  TrainingData arrays() const {
    TrainingData data = training_data_of(in_memory(folder_ / "train.txt"),
                                         in_memory(folder_ / "test.txt"), in_memory_);
    data.text_format = Format::multilabel;  // of the files; arrays have none
    return data;
  }
  TrainOptions in_memory_;
  RunContext without_directory_;
};

TEST_F(InMemory, GivesTheModelThatFilesGive) {
  const TrainResult from_files = run("run");
  const auto before = names_in(folder_.path());
  const TrainResult result = train(in_memory_, arrays(), *make_local_backend(), without_directory_);
  EXPECT_EQ(names_in(folder_.path()), before) << "nothing is written";
  EXPECT_EQ(result.directory, "");
  EXPECT_EQ(result.metrics, from_files.metrics);
  ASSERT_TRUE(result.last_model);
  expect_equal(*result.last_model, load_model(folder_ / "run/last.safetensors"));
  ASSERT_TRUE(result.best_model);
  expect_equal(*result.best_model, load_model(folder_ / "run/best.safetensors"));
}

TEST_F(InMemory, MayHaveADirectoryAndBeResumed) {
  in_memory_.output = folder_ / "arrays";
  run("files");
  asked_ = 0;
  const TrainingData data = arrays();
  int steps = 0;
  hooks_.after_step = [&](std::span<const float>) {
    if (++steps == 9) send_signal();
  };
  EXPECT_EQ(train(in_memory_, data, *make_local_backend(), context_).signal, SIGINT);
  in_memory_.output.clear();
  in_memory_.resume = folder_ / "arrays";
  context_.interrupted = {};
  EXPECT_EQ(train(in_memory_, data, *make_local_backend(), context_).ended, "epochs");
  EXPECT_EQ(model("arrays", "last"), model("files", "last"));
}

TEST_F(InMemory, HoldsOutAValidationShare) {
  in_memory_.validation_share = 0.2;
  const TrainingData data = training_data_of(in_memory(folder_ / "train.txt"), {}, in_memory_);
  EXPECT_EQ(data.row_count(), 80U);
  const TrainResult result = train(in_memory_, data, *make_local_backend(), without_directory_);
  EXPECT_EQ(result.metrics.count("p@1"), 1U);
}

TEST_F(InMemory, WhatCannotBeIsRefused) {
  EXPECT_THAT(error_of([&] { training_data_of(make_dataset({}, 3, {}, 2), {}, in_memory_); }),
              HasSubstr("no rows to train on"));
  in_memory_.output = folder_ / "nowhere";
  EXPECT_THAT(
      error_of([&] { train(in_memory_, arrays(), *make_local_backend(), without_directory_); }),
      HasSubstr("this run keeps none"));
}

TEST_F(InMemory, EveryEvaluationIsReported) {
  SessionOptions session;
  session.driver.evaluations_per_epoch = 2;
  std::vector<double> epochs;
  session.driver.evaluated = [&](const EvaluationPoint& point) {
    epochs.push_back(point.epoch);
    EXPECT_EQ(point.metrics->count("p@1"), 1U);
  };
  std::uint64_t ended = 0;
  session.driver.ended = [&](const FinishedSession& end) { ended = end.epochs; };
  const TrainingData data = arrays();
  run_session(in_memory_, &data, *make_local_backend(), without_directory_, session);
  ASSERT_EQ(epochs.size(), 6U);
  EXPECT_TRUE(std::is_sorted(epochs.begin(), epochs.end()));
  EXPECT_EQ(epochs[1], 1);
  EXPECT_EQ(epochs.back(), 3);
  EXPECT_EQ(ended, 3U);
}

}  // namespace
}  // namespace evener
