// Fits data to the sizes and label names of an existing model.
#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/data/parse.h"

namespace evener {

namespace {

/// The model's number of features or labels (0: no model) for data that has `count` of them. The
/// indices are checked only if `count` is larger.
std::uint32_t fitted_count(const CsrView& matrix, std::uint32_t count, std::uint32_t model,
                           const char* kind, const std::string& name) {
  if (model == 0) return count;
  if (count <= model) return model;
  for (std::size_t row = 0; row < matrix.rows(); ++row) {
    const auto indices = matrix.row(row).indices;
    if (!indices.empty() && indices.back() >= model) {
      throw DataError(name, 0,
                      fmt::format("row {} (from 0): {} {} is too large: the model has "
                                  "only {}, numbered from 0",
                                  row, kind, indices.back(), model));
    }
  }
  return model;
}

/// Labels renumbered so that each keeps its name.
Dataset renumbered(const Dataset& data, const std::string& name,
                   const std::vector<std::string>& names) {
  std::unordered_map<std::string, std::uint32_t> label_of;
  for (std::size_t i = 0; i < names.size(); ++i) {
    label_of.emplace(names[i], static_cast<std::uint32_t>(i));
  }
  struct Owner {
    CsrArrays labels;
    std::shared_ptr<const void> storage;
  };
  auto owner = std::make_shared<Owner>();
  owner->storage = data.storage;
  auto& labels = owner->labels.indices;
  for (std::size_t row = 0; row < data.rows(); ++row) {
    const auto begin = static_cast<std::ptrdiff_t>(labels.size());
    for (const std::uint32_t label : data.labels.row(row).indices) {
      const auto found = label_of.find(data.label_names[label]);
      if (found == label_of.end()) {
        throw DataError(name, 0,
                        fmt::format("row {} (from 0): the model does not know the label "
                                    "'{}'",
                                    row, data.label_names[label]));
      }
      labels.push_back(found->second);
    }
    // Two labels with the same name become one.
    std::sort(labels.begin() + begin, labels.end());
    labels.erase(std::unique(labels.begin() + begin, labels.end()), labels.end());
    owner->labels.offsets.push_back(labels.size());
  }
  Dataset result = data;
  result.labels = owner->labels.view();
  result.label_count = static_cast<std::uint32_t>(names.size());
  result.label_names = names;
  result.storage = owner;
  return result;
}

}  // namespace

Dataset fit_to_options(Dataset data, const std::string& name, const ReadOptions& options) {
  data.feature_count =
      fitted_count(data.features, data.feature_count, options.feature_count, "feature index", name);
  if (!options.label_names.empty() && !data.label_names.empty() &&
      data.label_names != options.label_names) {
    data = renumbered(data, name, options.label_names);
  }
  data.label_count =
      fitted_count(data.labels, data.label_count, options.label_count, "label", name);
  if (options.label_names.size() == data.label_count) data.label_names = options.label_names;
  if (data.label_names.size() != data.label_count) data.label_names.clear();
  return data;
}

}  // namespace evener
