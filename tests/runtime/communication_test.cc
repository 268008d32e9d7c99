// How many bytes and exchanges a run counts, and how far its replicas are from each other.
#include <cmath>
#include <numeric>

#include "tests/runtime/fakes.h"
#include "tests/runtime/small_setup.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/runtime/model_kinds.h"
#include "evener/runtime/replica_distance.h"

namespace evener {
namespace {

std::vector<FloatBuffer> buffers(const std::vector<std::vector<float>>& values) {
  std::vector<FloatBuffer> buffers;
  for (const auto& own : values) {
    buffers.emplace_back(own.size());
    std::copy(own.begin(), own.end(), buffers.back().data());
  }
  return buffers;
}

TEST(ReplicaDistance, IsTheRootMeanSquareDistanceFromTheMeanOverTheMeansNorm) {
  // The mean is (4, 3), of length 5; the replicas are 1, 1 and 0 from it, then 2 and 2.
  EXPECT_DOUBLE_EQ(replica_distance(buffers({{3, 3}, {5, 3}, {4, 3}})), std::sqrt(2.0 / 3) / 5);
  EXPECT_DOUBLE_EQ(replica_distance(buffers({{4, 1}, {4, 5}})), 0.4);
}

TEST(ReplicaDistance, LeavesOutLostReplicas) {
  EXPECT_DOUBLE_EQ(replica_distance(buffers({{4, 1}, {}, {4, 5}})), 0.4);
  EXPECT_EQ(replica_distance(buffers({{4, 1}, {}})), 0);
  EXPECT_EQ(replica_distance({}), 0);
  EXPECT_EQ(replica_distance(buffers({{0, 0}, {0, 0}})), 0);
}

TEST(ReplicaDistance, IsExactlyZeroForEqualModels) {
  std::vector<float> model(3000);
  for (std::size_t i = 0; i < model.size(); ++i) model[i] = std::sin(static_cast<float>(i));
  for (const std::size_t count : {2U, 3U, 7U}) {
    EXPECT_EQ(replica_distance(buffers(std::vector(count, model))), 0) << count;
  }
}

struct Course {
  std::vector<float> parameters;
  std::vector<std::optional<double>> distances;  // at the end of each epoch
  std::vector<std::optional<double>> after;      // the same after the last merge
  std::vector<Communication> communication;
  std::vector<WorkerTotals> workers;
  std::uint64_t merges = 0;
  Seconds seconds = 0;
};

struct Args {
  int workers = 3;
  bool measures = true;
  bool is_virtual = true;
  bool pauses = false;  // in the middle of each epoch
};

/// Nothing where the workers have no replicas.
std::optional<double> distance_now(Models& models) {
  if (auto* replicas = dynamic_cast<ReplicaSharing*>(&models)) return replicas->distance();
  if (auto* peers = dynamic_cast<PeerSharing*>(&models)) return peers->distance();
  return std::nullopt;
}

Course course(const std::string& strategy, const Args& args = {}) {
  const Dataset data = small_data(320);
  EngineSetup setup = small_setup(data, strategy, 24);
  setup.plan.measures_distance = args.measures;
  if (args.is_virtual) setup.virtual_time.emplace();
  for (int i = 0; i < args.workers; ++i) {
    if (!args.is_virtual) setup.devices.push_back(make_device("cpu:1"));
    if (!args.is_virtual) continue;
    DeviceModel model;
    model.name = "model";
    model.fixed = 1e-3;
    model.per_row = 1e-3 * (1 + i);
    model.bandwidth = 1e8;
    model.in_place = strategy == "hogwild";
    setup.virtual_time->devices.push_back(model);
  }
  Engine engine(std::move(setup));
  engine.models().give(0, start_of(small_network(data)));
  Course course;
  Position position;
  while (position.epoch < 3) {
    const bool first = position.next_row == 0;
    const bool whole = engine.run_epoch(position, [&](const StepReport&) {
      return !args.pauses || !first || position.next_row < 160;
    });
    course.distances.push_back(engine.distance());
    course.after.push_back(distance_now(engine.models()));
    course.communication.push_back(engine.communication());
    if (whole) position = {position.step, position.epoch + 1, 0, 0};
  }
  const FloatBuffer end = engine.models().take(0);
  course.parameters.assign(end.data(), end.data() + end.size());
  course.workers = engine.timeline().totals();
  course.merges = engine.timeline().merges();
  course.seconds = engine.now();
  return course;
}

const std::vector<std::string> kWithReplicas{"elastic:period=2",          "sma",
                                             "adaptive-sgd:mega-batch=4", "local-sgd:period=3",
                                             "gossip:period=2",           "gossip:merge=pushsum",
                                             "adaptive-gossip:warmup=2"};

TEST(Distance, IsPositiveBetweenMergesAndMeasuringChangesNoBit) {
  for (const auto& strategy : kWithReplicas) {
    SCOPED_TRACE(strategy);
    for (const bool pauses : {false, true}) {
      Args args;
      args.pauses = pauses;
      const Course measured = course(strategy, args);
      ASSERT_EQ(measured.distances.size(), pauses ? 6U : 3U);
      for (const auto& distance : measured.distances) {
        ASSERT_TRUE(distance);
        EXPECT_GT(*distance, 1e-6);
        EXPECT_LT(*distance, 1);
      }
      args.measures = false;
      const Course unmeasured = course(strategy, args);
      EXPECT_THAT(unmeasured.distances, testing::Each(std::nullopt));
      EXPECT_EQ(measured.parameters, unmeasured.parameters);
      EXPECT_EQ(measured.seconds, unmeasured.seconds);
    }
  }
}

TEST(Distance, IsMeasuredBeforeReplicasBecomeTheirMean) {
  for (const char* strategy : {"local-sgd:period=3", "adaptive-sgd:mega-batch=4:gamma=0"}) {
    for (const auto& distance : course(strategy).after) EXPECT_EQ(distance, 0.0) << strategy;
  }
  for (const char* strategy : {"gossip", "elastic"}) {  // their replicas stay as they are
    for (const auto& distance : course(strategy).after) EXPECT_GT(*distance, 0) << strategy;
  }
}

TEST(Distance, IsZeroWithOneWorkerAndNothingWithoutReplicas) {
  Args alone;
  alone.workers = 1;
  for (const auto& strategy : kWithReplicas) {
    EXPECT_THAT(course(strategy, alone).distances, testing::Each(std::optional(0.0))) << strategy;
  }
  for (const char* strategy : {"sync", "hogwild", "bsp", "asp", "dasp"}) {
    EXPECT_THAT(course(strategy).distances, testing::Each(std::nullopt)) << strategy;
  }
}

TEST(Distance, IsMeasuredOnRealDevicesToo) {
  Args args;
  args.is_virtual = false;
  for (const char* strategy : {"local-sgd:period=3", "elastic:period=2"}) {
    for (const auto& distance : course(strategy, args).distances) {
      ASSERT_TRUE(distance) << strategy;
      EXPECT_GT(*distance, 0) << strategy;
    }
  }
}

TEST(Communication, IsTheSumOverTheWorkers) {
  for (const char* strategy : {"sync", "local-sgd:period=3", "sma", "bsp", "asp", "dasp", "gossip",
                               "adaptive-gossip:warmup=2", "hogwild"}) {
    SCOPED_TRACE(strategy);
    const Course run = course(strategy);
    const auto sum = [&](std::uint64_t WorkerTotals::*value) {
      return std::accumulate(run.workers.begin(), run.workers.end(), std::uint64_t{0},
                             [&](auto so_far, const auto& own) { return so_far + own.*value; });
    };
    EXPECT_EQ(run.communication.back().bytes, sum(&WorkerTotals::bytes));
    for (std::size_t i = 1; i < run.communication.size(); ++i) {
      EXPECT_GE(run.communication[i].bytes, run.communication[i - 1].bytes);
      EXPECT_GE(run.communication[i].exchanges, run.communication[i - 1].exchanges);
    }
    const std::string name =
        exchanges_name(find_strategy(parse_strategy(strategy).strategy->name).sharing);
    const std::uint64_t exchanges = run.communication.back().exchanges;
    if (name.empty()) {
      EXPECT_EQ(run.communication.back().bytes, 0U);
      EXPECT_EQ(exchanges, 0U);
      continue;
    }
    EXPECT_GT(run.communication.back().bytes, 0U);
    EXPECT_GT(exchanges, 0U);
    const std::uint64_t counted = name == "merges"   ? run.merges
                                  : name == "pushes" ? sum(&WorkerTotals::tasks)
                                                     : sum(&WorkerTotals::exchanges) / 2;
    EXPECT_EQ(exchanges, counted);
  }
}

}  // namespace
}  // namespace evener
