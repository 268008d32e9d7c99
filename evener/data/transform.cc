#include "evener/data/transform.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "evener/core/error.h"
#include "evener/core/team.h"
#include "evener/data/array.h"

namespace evener {

namespace {

/// A feature's index after hashing and the sign of its values: with signs, collisions cancel on
/// average instead of adding up (Weinberger et al., ICML 2009).
struct Hashed {
  std::uint32_t index;
  float sign;
};

// The finaliser of splitmix64: every input bit reaches every output bit.
Hashed hashed(std::uint32_t feature, std::uint32_t buckets) {
  std::uint64_t x = (feature + std::uint64_t{1}) * 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  x ^= x >> 31;
  return {static_cast<std::uint32_t>((x & 0xFFFFFFFF) * buckets >> 32),
          x >> 63 != 0 ? -1.0F : 1.0F};
}

float value_at(const RowView& row, std::size_t i) {
  return row.values.empty() ? 1.0F : row.values[i];
}

/// One row folded into `buckets`: sums of colliding features, ascending, without zeros.
class RowHasher {
 public:
  explicit RowHasher(std::uint32_t buckets) : buckets_(buckets) {}

  const std::vector<std::pair<std::uint32_t, float>>& operator()(const RowView& row) {
    entries_.clear();
    for (std::size_t i = 0; i < row.indices.size(); ++i) {
      const auto [index, sign] = hashed(row.indices[i], buckets_);
      entries_.emplace_back(index, sign * value_at(row, i));
    }
    // By value within a bucket too, so that sums are formed in one order everywhere.
    std::sort(entries_.begin(), entries_.end());
    std::size_t kept = 0;
    for (std::size_t i = 0; i < entries_.size();) {
      auto sum = entries_[i++];
      while (i < entries_.size() && entries_[i].first == sum.first)
        sum.second += entries_[i++].second;
      if (sum.second != 0) entries_[kept++] = sum;
    }
    entries_.resize(kept);
    return entries_;
  }

 private:
  std::uint32_t buckets_;
  std::vector<std::pair<std::uint32_t, float>> entries_;
};

void finish_row(std::span<const std::uint32_t> indices, std::span<float> values,
                const Transform& transform) {
  if (transform.options.tfidf) {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const float value = values[i];
      values[i] = (value > 1.0F ? 1.0F + std::log(value) : value) * transform.idf[indices[i]];
    }
  }
  if (transform.options.normalise) {
    double squares = 0;
    for (const float value : values) squares += static_cast<double>(value) * value;
    if (squares == 0) return;
    const double length = std::sqrt(squares);
    for (float& value : values) value = static_cast<float>(value / length);
  }
}

/// Row ranges of about equal non-zeros, one a member.
std::size_t first_row_of(const CsrView& matrix, int members, int member) {
  if (member == 0 || matrix.rows() == 0) return 0;
  if (member == members) return matrix.rows();
  const std::uint64_t at = share_of(matrix.nonzeros(), members, member).begin;
  const auto found =
      std::lower_bound(matrix.offsets.begin(), matrix.offsets.end() - 1, std::uint64_t{at});
  return static_cast<std::size_t>(found - matrix.offsets.begin());
}

struct Part {
  Array<std::uint64_t> ends;  // from the part's first row on
  Array<std::uint32_t> indices;
  Array<float> values;
};

void hash_rows(const CsrView& matrix, std::size_t begin, std::size_t end, std::uint32_t buckets,
               Part& part) {
  RowHasher hasher(buckets);
  for (std::size_t row = begin; row < end; ++row) {
    for (const auto& [index, value] : hasher(matrix.row(row))) {
      part.indices.push_back(index);
      part.values.push_back(value);
    }
    part.ends.push_back(part.indices.size());
  }
}

/// Owns the transformed features, and keeps the rest of the original data set alive.
struct Owner {
  Array<std::uint64_t> offsets;
  Array<std::uint32_t> indices;
  Array<float> values;
  std::shared_ptr<const void> source;
};

void fold(const CsrView& matrix, std::uint32_t buckets, Team& team, Owner& owner) {
  std::vector<Part> parts(static_cast<std::size_t>(team.size()));
  team.run([&](int member) {
    hash_rows(matrix, first_row_of(matrix, team.size(), member),
              first_row_of(matrix, team.size(), member + 1), buckets,
              parts[static_cast<std::size_t>(member)]);
  });
  owner.offsets.push_back(0);
  for (Part& part : parts) {
    const std::uint64_t before = owner.indices.size();
    for (const std::uint64_t end : part.ends) owner.offsets.push_back(before + end);
    owner.indices.append(part.indices.span());
    owner.values.append(part.values.span());
    part = Part();
  }
}

void copy_values(const CsrView& matrix, Array<float>& values) {
  values.resize(matrix.nonzeros());
  if (matrix.values.empty()) {
    std::fill(values.begin(), values.end(), 1.0F);
  } else {
    std::copy(matrix.values.begin(), matrix.values.end(), values.begin());
  }
}

}  // namespace

Transform fit_transform(const Dataset& data, const TransformOptions& options) {
  Transform transform{options, {}};
  if (!options.tfidf) return transform;
  std::vector<std::uint32_t> rows_with(transform.feature_count(data.feature_count));
  RowHasher hasher(options.hash_features);
  for (std::size_t r = 0; r < data.rows(); ++r) {
    const RowView row = data.features.row(r);
    if (options.hash_features > 0) {
      for (const auto& entry : hasher(row)) ++rows_with[entry.first];
    } else {
      for (std::size_t i = 0; i < row.indices.size(); ++i) {
        rows_with[row.indices[i]] += value_at(row, i) != 0 ? 1 : 0;
      }
    }
  }
  check_intact(data);
  const auto rows = static_cast<double>(data.rows());
  for (const std::uint32_t count : rows_with) {
    transform.idf.push_back(static_cast<float>(std::log((1 + rows) / (1.0 + count)) + 1));
  }
  return transform;
}

Dataset apply_transform(const Dataset& data, const Transform& transform, int threads) {
  if (transform.identity()) return data;
  if (transform.options.tfidf &&
      transform.idf.size() < transform.feature_count(data.feature_count)) {
    throw Error("the data has more features than tf-idf weights were learnt for");
  }
  Team team(std::max(threads, 1));
  auto owner = std::make_shared<Owner>();
  owner->source = data.storage;
  Dataset result = data;
  result.feature_count = transform.feature_count(data.feature_count);
  if (transform.options.hash_features > 0) {
    fold(data.features, transform.options.hash_features, team, *owner);
    result.features.offsets = owner->offsets.span();
    result.features.indices = owner->indices.span();
  } else {
    copy_values(data.features, owner->values);
  }
  result.features.values = owner->values.span();
  team.run([&](int member) {
    const std::size_t end = first_row_of(result.features, team.size(), member + 1);
    for (std::size_t row = first_row_of(result.features, team.size(), member); row < end; ++row) {
      const std::uint64_t begin = result.features.offsets[row];
      const RowView view = result.features.row(row);
      finish_row(view.indices, {owner->values.data() + begin, view.indices.size()}, transform);
    }
  });
  result.storage = owner;
  check_intact(data);
  return result;
}

}  // namespace evener
