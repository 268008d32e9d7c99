// Runs with the shortlist head: files, resume, models, refusals.
#include <cstring>
#include <numeric>

#include "tests/run/session/train_fixture.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/retrieval/shortlist_head.h"
#include "evener/run/artifacts/shortlist_tensors.h"
#include "evener/run/session/evaluate.h"
#include "evener/run/session/head.h"

namespace evener {
namespace {

using testing::HasSubstr;

class ShortlistRun : public TrainFixture {
 protected:
  ShortlistRun() {
    options_.head = "shortlist";
    options_.devices = "cpu:2";
    options_.optimizer = "adagrad";
    options_.learning_rate = 0;
  }
};

TEST_F(ShortlistRun, LearnsAndLeavesAModelThatPredictsTheSame) {
  const TrainResult result = run("run");
  EXPECT_EQ(result.ended, "epochs");
  EXPECT_GT(result.metrics.at("p@1"), 0.95);
  const Model model = load_model(folder_ / "run/last.safetensors");
  ASSERT_NE(model.shortlist, nullptr);
  const auto network = make_device("cpu:1")->make_replica(model.network, {});
  network->load(0, model.parameters.span());
  const auto replica = make_shortlist_replica(*network, *model.shortlist, 1);
  const Dataset test = open_data_for(model, options_.test, {}, [](const std::string&) {});
  const auto predictions = predict_all(*replica, test, kEvaluationTop);
  EXPECT_EQ(evaluate(*predictions, test.labels, test.label_count, model.inverse_propensity),
            result.metrics);
}

TEST_F(ShortlistRun, ResumesToTheSameModelWhereverItIsInterrupted) {
  options_.devices = "cpu:1";
  run("whole");
  const long places = asked_;
  ASSERT_GT(places, 30);
  int in_preparation = 0;
  for (long at = 0; at < places; ++at) {
    SCOPED_TRACE("interrupted at " + std::to_string(at));
    const std::string name = "cut" + std::to_string(at);
    const TrainResult cut = run(name, at);
    ASSERT_EQ(cut.signal, SIGINT);
    if (cut.in_preparation) {  // there is no checkpoint yet, and the directory can be used
      ++in_preparation;
      EXPECT_EQ(cut.progress.step, 0);
      at += 6;  // places there are alike
      run(name);
    } else {
      resume(name);
    }
    ASSERT_EQ(model(name, "last"), model("whole", "last"));
    ASSERT_EQ(model(name, "best"), model("whole", "best"));
  }
  EXPECT_GT(in_preparation, 3);
}

TEST_F(ShortlistRun, AResumedRunThatIsInterruptedInThePreparationGoesOn) {
  options_.devices = "cpu:1";
  run("whole");
  run("cut", asked_ - 3);
  const TrainResult again = resume("cut", 0);
  EXPECT_TRUE(again.in_preparation);
  EXPECT_GT(again.progress.step, 0);
  EXPECT_FALSE(resume("cut").in_preparation);
  EXPECT_EQ(model("cut", "last"), model("whole", "last"));
}

TEST_F(ShortlistRun, SeveralWorkersTrainByAnyStrategy) {
  options_.devices = "cpu:1,cpu:1";
  options_.epochs = 10;
  for (const char* strategy :
       {"auto", "sync", "adaptive-sgd", "elastic", "hogwild", "gossip", "dasp"}) {
    SCOPED_TRACE(strategy);
    options_.strategy = strategy;
    const TrainResult result = run(strategy);
    EXPECT_GT(result.metrics.at("p@1"), 0.9);
    EXPECT_EQ(load_model(folder_ / (std::string(strategy) + "/last.safetensors")).network.output,
              Output::listed);
  }
}

TEST_F(ShortlistRun, SimulatedDevicesTrainTheSameAsRealOnes) {
  options_.devices = "cpu:1";
  run("real");
  options_.devices = "auto";
  VirtualTimeOptions one;
  one.devices = {DeviceModel{.name = "one"}};
  make_backend_ = [&] { return make_virtual_backend(one); };
  const TrainResult result = run("virtual");
  EXPECT_EQ(result.preparation_seconds, 0);  // a simulation is of the steps
  EXPECT_THAT(result.notes, testing::Contains(HasSubstr("real ones cannot yet")));
  EXPECT_EQ(model("virtual", "last"), model("real", "last"));
}

TEST_F(ShortlistRun, TrainsForTheTimeThatIsGiven) {
  options_.epochs = 0;
  options_.seconds = 0.2;
  const TrainResult result = run("run");
  EXPECT_EQ(result.ended, "seconds");
  EXPECT_GE(result.progress.training_seconds, 0.2);
  EXPECT_GT(result.preparation_seconds, 0);
  EXPECT_GT(result.metrics.at("p@1"), 0.9);
}

TEST_F(ShortlistRun, SaysWhichDevicesOfAutoItDoesNotUse) {
  options_.devices = "auto";
  context_.devices.automatic = [] { return FoundDevices{"cpu:1,cuda:0,opencl:1.0", {}}; };
  TrainResult result = run("with");
  EXPECT_THAT(result.notes, testing::Contains(HasSubstr("cuda:0,opencl:1.0: not used")));
  EXPECT_EQ(result.workers.at(0).name, "cpu:1");
  context_.devices.automatic = [] { return FoundDevices{"cpu:1", {"opencl:0.0 (same cores)"}}; };
  result = run("without");
  EXPECT_THAT(result.notes, testing::Not(testing::Contains(HasSubstr("not used"))));
}

TEST_F(ShortlistRun, TrainsOnlyOnRowsThatAreNotHeldOut) {
  options_.test.clear();
  options_.validation_share = 0.2;
  run("run");
  const Model model = load_model(folder_ / "run/last.safetensors");
  EXPECT_EQ(model.shortlist->retriever->model().rows.offsets.size(), 81U);
}

TEST_F(ShortlistRun, EachStageCanBeLeftOut) {
  for (const char* stage : kShortlistStages) {
    SCOPED_TRACE(stage);
    options_.ablate = stage;
    run(stage);
    const Model model = load_model(folder_ / (std::string(stage) + "/last.safetensors"));
    const ShortlistHead& head = *model.shortlist;
    const RetrievalModel& retrieval = head.retriever->model();
    const std::string left_out = stage;
    EXPECT_EQ(retrieval.candidates.by_neighbours == 0, left_out == "neighbours");
    EXPECT_EQ(retrieval.cooccurrence.labels.empty(), left_out == "cooccurrence");
    EXPECT_EQ(head.wide.values.empty(), left_out == "linear");
    // All features weigh the same, whatever suits the data.
    const auto& weights = retrieval.feature_weights;
    const bool same = std::all_of(weights.begin(), weights.end(), [](float w) { return w == 1; });
    EXPECT_TRUE(same || left_out != "weights");
    EXPECT_EQ(head.network_share == 0, left_out == "network");
    EXPECT_EQ(retrieval.offset.out == decltype(retrieval.offset.out){}, left_out == "offset");
  }
}

TEST_F(ShortlistRun, RefusesWhatItCannotDo) {
  options_.devices = "cpu:1,opencl:0.0";
  EXPECT_THAT(error_of([&] { run("a"); }), HasSubstr("--devices cpu:1,opencl:0.0: --head"));
  options_.devices = "cpu";
  options_.hidden = {8, 8};
  EXPECT_THAT(error_of([&] { run("b"); }), HasSubstr("--hidden: --head shortlist"));
  options_.hidden = {8};
  options_.ablate = "neighbours,cooccurrence";
  EXPECT_THAT(error_of([&] { run("c"); }), HasSubstr("--ablate: neighbours or cooccurrence"));
}

/// Copies a model file with one entry of one tensor replaced.
template <class T>
std::string refusal_of(const std::string& path, const std::string& tensor, std::size_t at,
                       T value) {
  const TensorFile file(path);
  std::map<std::string, std::vector<std::byte>> data;
  std::vector<TensorView> views;
  for (const auto& [name, entry] : file.entries()) {
    const auto bytes = file.bytes(name, entry.dtype, entry.shape);
    data[name].assign(bytes.begin(), bytes.end());
    if (name == tensor) std::memcpy(data[name].data() + at * sizeof(T), &value, sizeof(T));
    views.push_back({name, entry.dtype, entry.shape, data[name].data(), 0});
  }
  std::map<std::string, std::string> metadata;
  for (const auto& [key, text] : file.metadata()) {
    if (key.starts_with("evener.")) metadata[key] = text;
  }
  write_tensors(path + ".lie", views, metadata);
  return error_of([&] { load_model(path + ".lie"); });
}

TEST_F(ShortlistRun, ModelsWithIndicesOutOfBoundsAreRefused) {
  run("run");
  const std::string path = folder_ / "run/last.safetensors";
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;
  EXPECT_THAT(refusal_of<u32>(path, "shortlist.rows.features", 3, 20),
              HasSubstr("tensor 'shortlist.rows.features': holds 20"));
  EXPECT_THAT(refusal_of<u32>(path, "shortlist.labels.labels", 0, 6),
              HasSubstr("tensor 'shortlist.labels.labels': holds 6"));
  EXPECT_THAT(refusal_of<u32>(path, "shortlist.cooccurrence.labels", 0, 6),
              HasSubstr("tensor 'shortlist.cooccurrence.labels': holds 6"));
  EXPECT_THAT(refusal_of<u32>(path, "shortlist.wide.features", 0, 20),
              HasSubstr("tensor 'shortlist.wide.features': holds 20"));
  for (const char* offsets : {"rows", "labels", "cooccurrence", "wide"}) {
    const std::string name = std::string("shortlist.") + offsets + ".offsets";
    EXPECT_THAT(refusal_of<u64>(path, name, 0, 1), HasSubstr("'" + name + "': does not span"));
    EXPECT_THAT(refusal_of<u64>(path, name, 1, u64{1} << 40),
                HasSubstr("'" + name + "': does not ascend"));
  }
  EXPECT_THAT(refusal_of<float>(path, "shortlist.offset", 2, NAN),
              HasSubstr("tensor 'shortlist.offset': holds NaN or infinity"));
}

Dataset labelled(std::size_t rows, std::uint32_t labels, std::size_t labels_a_row) {
  CsrArrays x, y;
  for (std::size_t row = 0; row < rows; ++row) {
    x.indices.push_back(static_cast<std::uint32_t>(row % 50));
    x.values.push_back(1);
    x.offsets.push_back(x.indices.size());
    for (std::size_t i = 0; i < labels_a_row; ++i) {
      y.indices.push_back(static_cast<std::uint32_t>((row + i) % (labels - labels_a_row) + i));
    }
    std::sort(y.indices.end() - static_cast<std::ptrdiff_t>(labels_a_row), y.indices.end());
    y.offsets.push_back(y.indices.size());
  }
  return make_dataset(std::move(x), 50, std::move(y), labels);
}

TEST(ChooseHead, TakesTheShortlistForManyLabelsSeveralARow) {
  EXPECT_EQ(choose_head(labelled(2000, 300, 3)).head, "shortlist");
  EXPECT_EQ(choose_head(labelled(2000, 50, 3)).head, "full");
  EXPECT_EQ(choose_head(labelled(2000, 300, 1)).head, "full");
  EXPECT_EQ(choose_head(labelled(500, 300, 3)).head, "full");
  EXPECT_THAT(choose_head(labelled(2000, 50, 3)).why, HasSubstr("there are only 50 labels"));
}

}  // namespace
}  // namespace evener
