#include "evener/run/session/head.h"

#include <algorithm>

#include <fmt/format.h>

#include "evener/core/counted.h"

namespace evener {

namespace {

// Below this many labels, all of them are a short list.
constexpr std::uint32_t kFewLabels = 100;
// With about one label a row, labels exclude each other: softmax over all of them says so.
constexpr double kLabelsARow = 1.2;
// Retrieval needs rows to retrieve.
constexpr std::size_t kFewRows = 1000;
// Rows that share most of their features are not found by an inverted index.
constexpr double kDenseFeatures = 0.25;

}  // namespace

HeadChoice choose_head(const Dataset& data) {
  const auto rows = static_cast<double>(std::max<std::size_t>(1, data.rows()));
  const double labels_a_row = static_cast<double>(data.labels.nonzeros()) / rows;
  const double share = static_cast<double>(data.features.nonzeros()) /
                       (rows * std::max(1.0, static_cast<double>(data.feature_count)));
  const auto full = [](const std::string& why) {
    return HeadChoice{"full", "--head auto: full, because " + why};
  };
  if (data.label_count < kFewLabels) {
    return full("there are only " + counted(data.label_count, "label"));
  }
  if (data.rows() < kFewRows) return full("there are only " + counted(data.rows(), "row"));
  if (labels_a_row < kLabelsARow) {
    return full(fmt::format("a row has {:.1f} labels on average", labels_a_row));
  }
  if (share > kDenseFeatures) return full("the features are dense");
  return {"shortlist",
          fmt::format("--head auto: shortlist, because there are {} labels, {:.1f} a row, and the "
                      "features are sparse",
                      data.label_count, labels_a_row)};
}

}  // namespace evener
