// From rows of named features and labels to the numbered rows of a data set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evener/data/make/make.h"

namespace evener {

struct NamedRow {
  std::string name;
  std::vector<std::string> features;  // a feature named n times has the value n
  std::vector<std::string> labels;    // repeats count once
};

struct NumberingOptions {
  std::uint32_t min_feature_rows = 1;  // rarer features are dropped
  std::uint32_t min_label_rows = 1;
  double max_feature_share = 1;  // features of more than this share of the rows are dropped
  double test_share = 0.1;
  std::uint64_t seed = 0;
};

/// Drops rare labels, then rows without a label, rare and ubiquitous features, and rows without a
/// feature; splits the rest at random; numbers features and labels in the order of their names.
/// The numbering covers training and test rows, so that both files have the same sizes and a test
/// row counts even if none of its labels can be learnt.
MadeData number_rows(std::vector<NamedRow> rows, const NumberingOptions& options);

}  // namespace evener
