// The occurrences of parameter rows in a batch, grouped by row, so that each row is updated once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "evener/core/buffer.h"
#include "evener/device/cpu/kernels.h"

namespace evener::cpu {

/// A team's groups: each member has the occurrences of its own rows. A hash assigns rows to
/// members, since neighbouring rows tend to occur equally often.
class RowGroups {
 public:
  /// The rows of one member, in the order of their first occurrence.
  struct Group {
    std::vector<std::uint32_t> rows;
    std::vector<std::uint32_t> begins;   // rows.size() + 1: where their occurrences are
    std::vector<std::uint32_t> sources;  // by occurrence: the row of the gradient's terms
    std::vector<float> values;           // by occurrence: the factor of that row
  };

  RowGroups(std::size_t rows, int members)
      : slots_(rows), groups_(static_cast<std::size_t>(members)) {}

  /// Groups the member's occurrences by a counting sort. `visit(f)` calls f(row, source, value) for
  /// all occurrences of the batch in their order, and is called twice.
  template <class Visit>
  const Group& group(int member, Visit visit) {
    Group& mine = groups_[static_cast<std::size_t>(member)];
    mine.rows.clear();
    mine.begins.assign(1, 0);
    std::size_t total = 0;
    visit([&](std::uint32_t row, std::uint32_t, float) {
      if (!is_own(row, member)) return;
      std::uint32_t& slot = slots_[row];
      if (slot == 0) {
        mine.rows.push_back(row);
        mine.begins.push_back(0);
        slot = static_cast<std::uint32_t>(mine.rows.size());
      }
      ++mine.begins[slot];
      ++total;
    });
    for (std::size_t i = 1; i < mine.begins.size(); ++i) mine.begins[i] += mine.begins[i - 1];
    mine.sources.resize(std::max(mine.sources.size(), total));
    mine.values.resize(std::max(mine.values.size(), total));
    visit([&](std::uint32_t row, std::uint32_t source, float value) {
      if (!is_own(row, member)) return;
      const std::uint32_t place = mine.begins[slots_[row] - 1]++;
      mine.sources[place] = source;
      mine.values[place] = value;
    });
    // Each begin has moved to its end, which is the next one's begin: shift back.
    for (std::size_t i = mine.begins.size() - 1; i > 0; --i) mine.begins[i] = mine.begins[i - 1];
    mine.begins[0] = 0;
    for (const std::uint32_t row : mine.rows) slots_[row] = 0;
    return mine;
  }

 private:
  bool is_own(std::uint32_t row, int member) const {
    const auto members = static_cast<std::uint64_t>(groups_.size());
    return members == 1 ||
           (std::uint64_t{row * 0x9E3779B1U} * members >> 32) == static_cast<std::uint64_t>(member);
  }

  std::vector<std::uint32_t> slots_;  // by row: 1 + its index in its member's group, or 0
  std::vector<Group> groups_;
};

/// Rows of `width` floats, whose weighted sums are gradients.
struct GradientTerms {
  const float* rows;
  std::size_t width;
};

/// Updates the rows of a group, which are rows of a vector from its beginning. The row `bias` is
/// not regularized. `gradient` has room for one row.
void update_rows(const RowGroups::Group& group, const GradientTerms& terms,
                 const ModelVectors& vectors, const UpdateRule& rule, std::uint32_t bias,
                 float* gradient);

}  // namespace evener::cpu
