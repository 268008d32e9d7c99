// The inner loops of retrieval and of training on candidate labels, one version for each
// instruction set, chosen at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace evener::cpu {

struct ShortlistKernels {
  /// sum_i values[i] * dense[indices[i]].
  float (*sparse_dot)(const std::uint32_t* indices, const float* values, std::size_t count,
                      const float* dense);
  /// dense[indices[i]] += factor * values[i]; the indices differ from each other.
  void (*sparse_add)(const std::uint32_t* indices, const float* values, std::size_t count,
                     float factor, float* dense);
  /// Appends the indices of values above the threshold to `out`, which has room for `count`;
  /// returns how many there are.
  std::size_t (*above)(const float* values, std::size_t count, float threshold, std::uint32_t* out);

  /// cells[labels[i]] += sums[i] * factor + constant, each of four floats. Appends the labels whose
  /// cell had a third float of zero to `touched`, which has room for `count`; returns how many.
  std::size_t (*add_cells)(const std::uint32_t* labels, const float* sums, std::size_t count,
                           const float* factor, const float* constant, float* cells,
                           std::uint32_t* touched);

  /// Of two rows of `width` floats, a multiple of kVectorMultiple (32), at the alignment of
  /// FloatBuffer. Other threads may be changing `weights`.
  float (*dot)(const float* weights, const float* values, std::size_t width);
};

/// The version for this processor.
const ShortlistKernels& shortlist_kernels();
/// For tests: switches to one of instruction_sets() (vector_kernels.h).
void use_shortlist_instruction_set(const std::string& name);

}  // namespace evener::cpu
