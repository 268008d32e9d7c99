// Helpers of the data tests: a temporary folder, small data sets, error messages.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/core/error.h"
#include "evener/data/read.h"

namespace evener {

class FolderTest : public ::testing::Test {
 protected:
  FolderTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "evener_data_test.XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~FolderTest() override { std::filesystem::remove_all(folder_); }

  std::string name(const std::string& file) const { return folder_ / file; }
  std::string make(const std::string& file, const std::string& contents) const {
    std::ofstream(name(file), std::ios::binary) << contents;
    return name(file);
  }
  static std::string contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::filesystem::path folder_;
};

/// The message of the DataError that `action` throws; other errors do not count.
template <class Action>
std::string data_error(Action&& action) {
  try {
    action();
  } catch (const DataError& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("not a DataError: ") + error.what();
  }
  return "no error";
}

using Rows = std::vector<std::vector<std::pair<std::uint32_t, float>>>;
using Labels = std::vector<std::vector<std::uint32_t>>;

inline Rows features_of(const Dataset& data) {
  Rows rows;
  for (std::size_t r = 0; r < data.rows(); ++r) {
    const RowView row = data.features.row(r);
    auto& out = rows.emplace_back();
    for (std::size_t i = 0; i < row.indices.size(); ++i) {
      out.emplace_back(row.indices[i], row.values.empty() ? 1.0F : row.values[i]);
    }
  }
  return rows;
}

inline Labels labels_of(const Dataset& data) {
  Labels rows;
  for (std::size_t r = 0; r < data.labels.rows(); ++r) {
    const auto row = data.labels.row(r).indices;
    rows.emplace_back(row.begin(), row.end());
  }
  return rows;
}

inline Dataset dataset_from(const Rows& rows, const Labels& labels, std::uint32_t feature_count,
                            std::uint32_t label_count, std::vector<std::string> names = {}) {
  CsrArrays features;
  CsrArrays label_arrays;
  for (const auto& row : rows) {
    for (const auto& [index, value] : row) {
      features.indices.push_back(index);
      features.values.push_back(value);
    }
    features.offsets.push_back(features.indices.size());
  }
  for (const auto& row : labels) {
    label_arrays.indices.insert(label_arrays.indices.end(), row.begin(), row.end());
    label_arrays.offsets.push_back(label_arrays.indices.size());
  }
  return make_dataset(std::move(features), feature_count, std::move(label_arrays), label_count,
                      std::move(names));
}

inline void expect_same(const Dataset& a, const Dataset& b) {
  EXPECT_EQ(features_of(a), features_of(b));
  EXPECT_EQ(labels_of(a), labels_of(b));
  EXPECT_EQ(a.feature_count, b.feature_count);
  EXPECT_EQ(a.label_count, b.label_count);
  EXPECT_EQ(a.label_names, b.label_names);
}

}  // namespace evener
