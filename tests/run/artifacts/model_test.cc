#include "evener/run/artifacts/model.h"

#include <fstream>
#include <limits>

#include "tests/run/support.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "evener/run/artifacts/model_file.h"

namespace evener {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(ModelFile, RoundTripsEveryBit) {
  const Folder folder;
  const Model model = small_model(1);
  save_model(model, folder / "m");
  expect_equal(load_model(folder / "m"), model);
}

TEST(ModelFile, RoundTripsNetworksOfEveryKind) {
  const Folder folder;
  for (const auto& hidden : {std::vector<std::uint32_t>{}, {16}, {1, 1, 33}}) {
    for (const Input input : {Input::sparse, Input::dense}) {
      Model model;
      model.network = {20, hidden, 3, Activation::sigmoid, Loss::squared, input};
      model.raw_features = 20;
      model.transform.options.normalise = true;
      model.parameters = random_vector(model.network, 5);
      save_model(model, folder / "m");
      expect_equal(load_model(folder / "m"), model);
    }
  }
}

TEST(ModelFile, HoldsUnpaddedTensorsUnderTheSegmentsNames) {
  const Folder folder;
  save_model(small_model(1), folder / "m");
  const TensorFile file(folder / "m");
  file.expect("hidden1.weight", "F32", {11, 5});
  file.expect("hidden1.bias", "F32", {5});
  file.expect("hidden2.weight", "F32", {17, 5});
  file.expect("output.weight", "F32", {7, 17});
  file.expect("output.bias", "F32", {7});
  file.expect("transform.idf", "F32", {11});
  file.expect("inverse_propensity", "F32", {7});
  EXPECT_EQ(file.metadata().at("evener.format"), "1");
}

TEST(ModelFile, RefusesLabelNamesItCouldNotReadBack) {
  const Folder folder;
  Model model = small_model(1);
  model.label_names[2] = "two\nlines";
  EXPECT_THAT(error_of([&] { save_model(model, folder / "m"); }), HasSubstr("line break"));
}

/// A model with one change and valid checksums: a wrong writer, not a damaged disk.
class LyingModel {
 public:
  LyingModel() {
    save_model(small_model(1), folder_ / "good");
    const TensorFile file(folder_ / "good");
    for (const auto& [name, entry] : file.entries()) {
      const auto data = file.bytes(name, entry.dtype, entry.shape);
      data_[name].assign(data.begin(), data.end());
      views_[name] = {name, entry.dtype, entry.shape, data_[name].data(), 0};
    }
    for (const auto& [key, value] : file.metadata()) {
      if (key.rfind("evener.", 0) == 0) metadata[key] = value;
    }
  }
  void drop(const std::string& name) { views_.erase(name); }
  void put(const std::string& name, const std::string& dtype, std::vector<std::size_t> shape) {
    std::size_t bytes = dtype == "F32" ? 4 : 1;
    for (const std::size_t n : shape) bytes *= n;
    data_[name].assign(bytes, std::byte{'a'});
    views_[name] = {name, dtype, std::move(shape), data_[name].data(), 0};
  }
  void network(const std::string& key, const json& value) { edit("evener.network", key, value); }
  void transform(const std::string& key, const json& value) {
    edit("evener.transform", key, value);
  }
  std::string refusal() const {
    std::vector<TensorView> tensors;
    for (const auto& [name, view] : views_) tensors.push_back(view);
    write_tensors(folder_ / "lie", tensors, metadata);
    return error_of([&] { load_model(folder_ / "lie"); });
  }

  std::map<std::string, std::string> metadata;

 private:
  void edit(const std::string& part, const std::string& key, const json& value) {
    json j = json::parse(metadata.at(part));
    j[key] = value;
    metadata[part] = j.dump();
  }

  Folder folder_;
  std::map<std::string, std::vector<std::byte>> data_;
  std::map<std::string, TensorView> views_;
};

template <class Change>
std::string refusal_after(Change change) {
  LyingModel model;
  change(model);
  return model.refusal();
}

TEST(ModelFile, RefusesModelsThatContradictThemselves) {
  using M = LyingModel;
  EXPECT_EQ(refusal_after([](M&) {}), "");
  EXPECT_THAT(refusal_after([](M& m) { m.drop("hidden2.bias"); }),
              HasSubstr("tensor 'hidden2.bias': is missing"));
  EXPECT_THAT(refusal_after([](M& m) {
                m.put("output.weight", "F32", {17, 7});
              }),
              HasSubstr("tensor 'output.weight': is F32 [17, 7], expected F32 [7, 17]"));
  EXPECT_THAT(refusal_after([](M& m) { m.put("output.bias", "U8", {7}); }),
              HasSubstr("tensor 'output.bias': is U8"));
  EXPECT_THAT(refusal_after([](M& m) { m.drop("transform.idf"); }),
              HasSubstr("tensor 'transform.idf': is missing"));
  EXPECT_THAT(refusal_after([](M& m) { m.put("inverse_propensity", "F32", {8}); }),
              HasSubstr("tensor 'inverse_propensity'"));
  EXPECT_THAT(refusal_after([](M& m) { m.put("label_names", "U8", {100}); }),
              HasSubstr("tensor 'label_names': is not one line for each of the 7 labels"));
  EXPECT_THAT(refusal_after([](M& m) { m.put("label_names", "U8", {0}); }),
              HasSubstr("tensor 'label_names'"));
  EXPECT_THAT(refusal_after([](M& m) {
                m.put("label_names", "U8", {5, 5});
              }),
              HasSubstr("tensor 'label_names'"));
  EXPECT_THAT(refusal_after([](M& m) { m.transform("hash_features", 12); }),
              HasSubstr("the transform does not make the features"));
}

TEST(ModelFile, RefusesMetadataThatIsNotWhatItShouldBe) {
  using M = LyingModel;
  EXPECT_THAT(refusal_after([](M& m) { m.metadata["evener.format"] = "2"; }),
              HasSubstr("format version '2', this program reads versions 1 and 3"));
  EXPECT_THAT(refusal_after([](M& m) { m.metadata["evener.format"] = "3"; }),
              HasSubstr("its format version does not fit its head"));
  EXPECT_THAT(refusal_after([](M& m) { m.network("output", "listed"); }),
              HasSubstr("a listed output needs a sparse input, one hidden layer"));
  EXPECT_THAT(refusal_after([](M& m) { m.network("output", "square"); }),
              HasSubstr("unknown output 'square'"));
  EXPECT_THAT(refusal_after([](M& m) { m.metadata.erase("evener.format"); }),
              HasSubstr("is not an evener model"));
  EXPECT_THAT(refusal_after([](M& m) { m.metadata["evener.network"] = "{"; }),
              HasSubstr("metadata 'evener.network': "));
  EXPECT_THAT(refusal_after([](M& m) { m.metadata["evener.network"] = "[1]"; }),
              HasSubstr("metadata 'evener.network': "));
  EXPECT_THAT(refusal_after([](M& m) { m.network("activation", "gelu"); }),
              HasSubstr("unknown activation 'gelu'"));
  EXPECT_THAT(refusal_after([](M& m) { m.network("loss", 3); }), HasSubstr("evener.network"));
  EXPECT_THAT(refusal_after([](M& m) { m.network("hidden", 5); }), HasSubstr("'hidden'"));
  EXPECT_THAT(refusal_after([](M& m) { m.transform("tfidf", 1); }), HasSubstr("evener.transform"));
  for (const json& size : {json(0), json(-1), json(1.5), json(1ULL << 32), json("7"), json()}) {
    EXPECT_THAT(refusal_after([&](M& m) { m.network("labels", size); }),
                HasSubstr("evener.network': a size"));
    EXPECT_THAT(refusal_after([&](M& m) {
                  m.network("hidden", json::array({5, size}));
                }),
                HasSubstr("evener.network': a size"));
  }
}

TEST(ModelFile, AllocatesNothingForSizesTheFileDoesNotHold) {
  // If memory were allocated before the shapes are compared, this would request 2^66 bytes.
  const std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
  EXPECT_THAT(refusal_after([&](LyingModel& m) {
                m.network("features", most);
                m.network("hidden", json::array({most, most}));
                m.transform("hash_features", most);
              }),
              HasSubstr("tensor 'hidden1.weight': is F32 [11, 5], expected F32 [4294967295, "));
  EXPECT_THAT(refusal_after([&](LyingModel& m) { m.network("labels", most); }),
              HasSubstr("tensor 'output.weight'"));
}

TEST(ModelFile, RefusesWhatIsNoModelAtAll) {
  const Folder folder;
  EXPECT_THAT(error_of([&] { load_model(folder / "none"); }),
              HasSubstr("none: cannot open: No such file"));
  put_contents(folder / "text", "hello, this is not a model\n");
  EXPECT_THAT(error_of([&] { load_model(folder / "text"); }), HasSubstr("text: damaged header"));
  EXPECT_THAT(error_of([&] { load_model(folder.path()); }), HasSubstr("Is a directory"));
}

}  // namespace
}  // namespace evener
