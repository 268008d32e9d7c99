#include "evener/retrieval/neighbours.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "evener/device/cpu/shortlist_kernels.h"
#include "evener/retrieval/dense_row.h"
#include "evener/retrieval/parallel.h"

namespace evener {

namespace {

/// Postings of some features.
struct PostingsPart {
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint32_t> rows;
  std::vector<float> values;
};

/// Chooses the largest postings of one feature after another.
class PostingChooser {
 public:
  void append(std::span<const std::uint32_t> rows, std::span<const float> values, float weight,
              std::span<const float> factors, std::size_t limit, PostingsPart& out) {
    scaled_.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      scaled_[i] = factors.empty() ? values[i] : values[i] * weight * factors[rows[i]];
    }
    if (rows.size() <= limit) {
      out.rows.insert(out.rows.end(), rows.begin(), rows.end());
      out.values.insert(out.values.end(), scaled_.begin(), scaled_.end());
    } else {
      best_.begin(limit);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        best_.add(static_cast<std::uint32_t>(i), std::abs(scaled_[i]));
      }
      order_.clear();
      for (const Scored& item : best_.finish()) order_.push_back(item.id);
      std::sort(order_.begin(), order_.end());
      for (const std::uint32_t i : order_) {
        out.rows.push_back(rows[i]);
        out.values.push_back(scaled_[i]);
      }
    }
    out.offsets.push_back(out.rows.size());
  }

 private:
  std::vector<float> scaled_;
  std::vector<std::uint32_t> order_;
  BestOf best_;
};

}  // namespace

float scale_row(const RowView& row, std::span<const float> feature_weights, float* values) {
  double squares = 0;
  for (std::size_t i = 0; i < row.indices.size(); ++i) {
    const float value = row.values.empty() ? 1.0F : row.values[i];
    values[i] = value * feature_weights[row.indices[i]];
    squares += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  }
  if (squares == 0) return 1;
  const auto factor = static_cast<float>(1 / std::sqrt(squares));
  for (std::size_t i = 0; i < row.indices.size(); ++i) values[i] *= factor;
  return factor;
}

ScaledRows scale_rows(const CsrView& rows, std::vector<float> feature_weights, Team& team) {
  ScaledRows scaled{std::move(feature_weights), {}, {}};
  scaled.factors.resize(rows.rows());
  scaled.values.resize(rows.nonzeros());
  constexpr std::size_t kChunk = 256;
  for_chunks(team, rows.rows(), kChunk, {}, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t row = begin; row < end; ++row) {
      scaled.factors[row] = scale_row(rows.row(row), scaled.feature_weights,
                                      scaled.values.data() + rows.offsets[row]);
    }
  });
  return scaled;
}

SparseColumns largest_postings(const SparseColumns& columns, const ScaledRows* scaled,
                               std::size_t limit, Team& team) {
  constexpr std::size_t kChunk = 64;
  std::vector<PostingsPart> parts((columns.count() + kChunk - 1) / kChunk);
  std::vector<PostingChooser> choosers(static_cast<std::size_t>(team.size()));
  for_chunks(team, columns.count(), kChunk, {},
             [&](std::size_t begin, std::size_t end, int member) {
               for (std::size_t f = begin; f < end; ++f) {
                 choosers[static_cast<std::size_t>(member)].append(
                     columns.rows_of(f), columns.values_of(f),
                     scaled != nullptr ? scaled->feature_weights[f] : 1.0F,
                     scaled != nullptr ? std::span(scaled->factors) : std::span<const float>(),
                     limit, parts[begin / kChunk]);
               }
             });
  SparseColumns kept;
  kept.offsets = joined_offsets(parts);
  kept.rows = joined_values(parts, &PostingsPart::rows, team);
  kept.values = joined_values(parts, &PostingsPart::values, team);
  return kept;
}

NeighbourIndex::NeighbourIndex(const CsrView& rows, SparseColumns postings,
                               const NeighbourOptions& options)
    : rows_(rows), options_(options), postings_(std::move(postings)) {}

NeighbourIndex::NeighbourIndex(const CsrView& rows, std::size_t feature_count,
                               const NeighbourOptions& options, Team& team)
    : NeighbourIndex(rows,
                     largest_postings(columns_of(rows, feature_count, team), nullptr,
                                      options.postings_a_feature, team),
                     options) {}

std::span<const Scored> NeighbourIndex::find(const RowView& row, std::uint32_t self,
                                             Scratch& scratch) const {
  const cpu::ShortlistKernels& kernels = cpu::shortlist_kernels();
  const std::size_t count = rows_.rows();
  scratch.sums.resize(count, 0.0F);
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

  const DenseRow query(row, postings_.count(), scratch.query);
  scratch.found.clear();
  for (const Scored& item : best.finish()) {
    const RowView other = rows_.row(item.id);
    const float similarity = kernels.sparse_dot(other.indices.data(), other.values.data(),
                                                other.indices.size(), query.data());
    if (similarity > 0) scratch.found.push_back({item.id, similarity});
  }
  std::sort(scratch.found.begin(), scratch.found.end(), kBetterFirst);
  return scratch.found;
}

}  // namespace evener
