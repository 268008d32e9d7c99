#include "evener/retrieval/neighbours.h"

#include <algorithm>
#include <cmath>

#include "evener/device/cpu/shortlist_kernels.h"

namespace evener {

namespace {

/// The largest entries of each feature, in ascending order of rows.
SparseColumns largest_postings(const CsrView& rows, std::size_t feature_count, std::size_t limit) {
  SparseColumns all = columns_of(rows, feature_count);
  SparseColumns kept;
  kept.offsets.assign(1, 0);
  kept.offsets.reserve(feature_count + 1);
  BestOf best;
  std::vector<std::uint32_t> order;
  std::size_t at = 0;
  // In place: a feature's postings move to the front by no more than what was dropped.
  for (std::size_t f = 0; f < feature_count; ++f) {
    const std::size_t begin = all.offsets[f], count = all.size_of(f);
    order.clear();
    if (count > limit) {
      best.begin(limit);
      for (std::size_t i = 0; i < count; ++i) {
        best.add(static_cast<std::uint32_t>(i), std::abs(all.values[begin + i]));
      }
      for (const Scored& item : best.finish()) order.push_back(item.id);
      std::sort(order.begin(), order.end());
    } else {
      for (std::size_t i = 0; i < count; ++i) order.push_back(static_cast<std::uint32_t>(i));
    }
    for (const std::uint32_t i : order) {
      all.rows[at] = all.rows[begin + i];
      all.values[at++] = all.values[begin + i];
    }
    kept.offsets.push_back(at);
  }
  all.rows.resize(at);
  all.values.resize(at);
  kept.rows = std::move(all.rows);
  kept.values = std::move(all.values);
  return kept;
}

}  // namespace

void scale_row(const RowView& row, std::span<const float> feature_weights,
               std::vector<float>& values) {
  values.resize(row.indices.size());
  double squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float value = row.values.empty() ? 1.0F : row.values[i];
    values[i] = value * feature_weights[row.indices[i]];
    squares += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  }
  if (squares == 0) return;
  const auto factor = static_cast<float>(1 / std::sqrt(squares));
  for (float& value : values) value *= factor;
}

CsrArrays scaled_rows(const CsrView& rows, std::span<const float> feature_weights) {
  CsrArrays scaled;
  scaled.offsets.assign(rows.offsets.begin(), rows.offsets.end());
  scaled.indices.assign(rows.indices.begin(), rows.indices.end());
  scaled.values.reserve(rows.nonzeros());
  std::vector<float> values;
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    scale_row(rows.row(row), feature_weights, values);
    scaled.values.insert(scaled.values.end(), values.begin(), values.end());
  }
  return scaled;
}

NeighbourIndex::NeighbourIndex(const CsrView& rows, std::size_t feature_count,
                               const NeighbourOptions& options)
    : rows_(rows),
      options_(options),
      postings_(largest_postings(rows, feature_count, options.postings_a_feature)) {}

std::span<const Scored> NeighbourIndex::find(const RowView& row, std::uint32_t self,
                                             Scratch& scratch) const {
  const cpu::ShortlistKernels& kernels = cpu::shortlist_kernels();
  const std::size_t count = rows_.rows();
  scratch.sums.resize(count, 0.0F);
  scratch.query.resize(postings_.count(), 0.0F);
  scratch.best_entries.begin(options_.query_entries);
  std::size_t work = 0;
  for (std::size_t i = 0; i < row.indices.size(); ++i) {
    scratch.best_entries.add(static_cast<std::uint32_t>(i), std::abs(row.values[i]));
  }
  const auto entries = scratch.best_entries.finish_sorted();
  for (const Scored& entry : entries) work += postings_.size_of(row.indices[entry.id]);
  // Where most rows share a feature with the query, a scan of all sums is faster than a list of
  // those that are not zero.
  const bool dense = work > count / 4;
  float* sums = scratch.sums.data();
  scratch.touched.clear();
  for (const Scored& entry : entries) {
    const std::uint32_t feature = row.indices[entry.id];
    const float value = row.values[entry.id];
    const auto rows = postings_.rows_of(feature);
    const auto values = postings_.values_of(feature);
    if (dense) {
      for (std::size_t i = 0; i < rows.size(); ++i) sums[rows[i]] += value * values[i];
    } else {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        float& sum = sums[rows[i]];
        if (sum == 0) scratch.touched.push_back(rows[i]);
        sum += value * values[i];
      }
    }
  }
  if (self != kNoRow) sums[self] = 0;
  BestOf& best = scratch.best_rows;
  best.begin(options_.rescored);
  if (dense) {
    scratch.touched.resize(count);
    constexpr std::size_t kBlock = 1024;
    for (std::size_t begin = 0; begin < count; begin += kBlock) {
      const std::size_t size = std::min(kBlock, count - begin);
      const float least = std::max(0.0F, std::nextafter(best.least(), 0.0F));
      const std::size_t found = kernels.above(sums + begin, size, least, scratch.touched.data());
      for (std::size_t i = 0; i < found; ++i) {
        const std::size_t at = begin + scratch.touched[i];
        best.add(static_cast<std::uint32_t>(at), sums[at]);
      }
    }
    std::fill_n(sums, count, 0.0F);
  } else {
    for (const std::uint32_t found : scratch.touched) {
      if (sums[found] > 0) best.add(found, sums[found]);
      sums[found] = 0;
    }
  }

  float* query = scratch.query.data();
  for (std::size_t i = 0; i < row.indices.size(); ++i) query[row.indices[i]] = row.values[i];
  scratch.found.clear();
  for (const Scored& item : best.finish()) {
    const RowView other = rows_.row(item.id);
    const float similarity =
        kernels.sparse_dot(other.indices.data(), other.values.data(), other.indices.size(), query);
    if (similarity > 0) scratch.found.push_back({item.id, similarity});
  }
  for (const std::uint32_t feature : row.indices) query[feature] = 0;
  std::sort(scratch.found.begin(), scratch.found.end(), is_better);
  return scratch.found;
}

}  // namespace evener
