#include "evener/device/cpu/row_groups.h"

namespace evener::cpu {

namespace {

/// Prefetches a row that is needed soon: rows are scattered in memory.
void fetch(const RowState& row, std::size_t width) {
  constexpr std::size_t kLine = 64 / sizeof(float);
  for (const float* values : {row.weight, row.first, row.second}) {
    if (values == nullptr) continue;
    for (std::size_t i = 0; i < width; i += kLine) __builtin_prefetch(values + i, 1);
  }
}

}  // namespace

void update_rows(const RowGroups::Group& group, const GradientTerms& terms,
                 const ModelVectors& vectors, const UpdateRule& rule, std::uint32_t bias,
                 float* gradient) {
  const VectorKernels& v = vector_kernels();
  const std::size_t width = terms.width;
  for (std::size_t i = 0; i < group.rows.size(); ++i) {
    if (i + 1 < group.rows.size()) fetch(vectors.at(group.rows[i + 1] * width), width);
    const std::size_t begin = group.begins[i];
    kernels().gather(terms.rows, width, width, nullptr, group.sources.data() + begin,
                     group.values.data() + begin, group.begins[i + 1] - begin, gradient);
    if (rule.clip > 0) {
      const float factor = clip_factor(rule.clip, v.square_norm(gradient, width));
      for (std::size_t u = 0; u < width; ++u) gradient[u] *= factor;
    }
    const std::uint32_t row = group.rows[i];
    v.update(rule, vectors.at(row * width), gradient, width, row == bias ? 0.0F : rule.l2);
  }
}

}  // namespace evener::cpu
