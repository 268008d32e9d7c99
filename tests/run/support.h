// Shared by the tests of this layer: a temporary folder, whole files as strings, models.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "evener/core/error.h"
#include "evener/core/random.h"
#include "evener/run/artifacts/model.h"

namespace evener {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "evener-run-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw Error("cannot make a temporary directory");
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void put_contents(const std::string& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << contents;
}

/// Changes one byte in place, which is faster than writing the file again.
inline void xor_byte(const std::string& path, std::size_t at, int mask) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(at));
  const int byte = file.get() ^ mask;
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(byte));
}

/// The message of the Error that `action` throws; empty if it throws none.
template <class Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Random bits, including NaNs and denormals; the padding stays zero.
inline FloatBuffer random_vector(const Network& network, std::uint64_t seed) {
  const Layout layout = layout_of(network);
  FloatBuffer vector(layout.size);
  Random random(seed);
  for (const Segment& segment : layout.segments()) {
    for (std::size_t r = 0; r < segment.rows; ++r) {
      for (std::size_t c = 0; c < segment.cols; ++c) {
        vector[segment.offset + r * segment.stride + c] = std::bit_cast<float>(random.next());
      }
    }
  }
  return vector;
}

inline Network small_network() {
  Network network;
  network.features = 11;
  network.hidden = {5, 17};
  network.labels = 7;
  network.activation = Activation::tanh;
  network.loss = Loss::sigmoid;
  return network;
}

inline Model small_model(std::uint64_t seed) {
  Model model;
  model.network = small_network();
  model.raw_features = 30;
  model.text_format = Format::multilabel;
  model.transform.options = {11, true, false};
  for (std::uint32_t f = 0; f < model.network.features; ++f) {
    model.transform.idf.push_back(1.5F + static_cast<float>(f));
  }
  for (std::uint32_t l = 0; l < model.network.labels; ++l) {
    model.label_names.push_back(l == 3 ? "" : "läbel " + std::to_string(l));
    model.inverse_propensity.push_back(2.25F * static_cast<float>(l + 1));
  }
  model.parameters = random_vector(model.network, seed);
  return model;
}

inline std::vector<std::uint32_t> bits(std::span<const float> values) {
  std::vector<std::uint32_t> result;
  for (const float value : values) result.push_back(std::bit_cast<std::uint32_t>(value));
  return result;
}

inline void expect_equal(const Model& a, const Model& b) {
  EXPECT_EQ(a.network.features, b.network.features);
  EXPECT_EQ(a.network.hidden, b.network.hidden);
  EXPECT_EQ(a.network.labels, b.network.labels);
  EXPECT_EQ(a.network.activation, b.network.activation);
  EXPECT_EQ(a.network.loss, b.network.loss);
  EXPECT_EQ(a.network.input, b.network.input);
  EXPECT_EQ(a.raw_features, b.raw_features);
  EXPECT_EQ(a.text_format, b.text_format);
  EXPECT_EQ(a.transform.options.hash_features, b.transform.options.hash_features);
  EXPECT_EQ(a.transform.options.tfidf, b.transform.options.tfidf);
  EXPECT_EQ(a.transform.options.normalise, b.transform.options.normalise);
  EXPECT_EQ(bits(a.transform.idf), bits(b.transform.idf));
  EXPECT_EQ(a.label_names, b.label_names);
  EXPECT_EQ(bits(a.inverse_propensity), bits(b.inverse_propensity));
  EXPECT_EQ(bits(a.parameters.span()), bits(b.parameters.span()));
}

}  // namespace evener
