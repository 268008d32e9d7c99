// Operations on vectors in host memory, for merges, pushes and updates of models on any device. One
// version per instruction set, chosen at run time.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "evener/device/update_rule.h"

namespace evener {

/// Twice the widest vector of any instruction set, in floats. Lengths are multiples of this, or are
/// followed by padding up to the next multiple.
inline constexpr std::size_t kVectorMultiple = 32;

/// One row of parameters with its optimizer state (null if the rule keeps none).
struct RowState {
  float* weight;
  float* first;
  float* second;
};

/// A model's vectors: parameters and the optimizer's state, addressed by the same offsets.
struct ModelVectors {
  float* weight = nullptr;
  float* first = nullptr;
  float* second = nullptr;

  RowState at(std::size_t offset) const {
    return {weight + offset, first != nullptr ? first + offset : nullptr,
            second != nullptr ? second + offset : nullptr};
  }
};

struct VectorKernels {
  /// Applies the rule to n consecutive parameters; the rest of the last vector is padding.
  void (*update)(const UpdateRule& rule, const RowState& row, const float* gradient, std::size_t n,
                 float l2);

  // Other threads may be changing `to` and, but for add_difference, `from`.
  /// to = from
  void (*copy)(const float* from, float* to, std::size_t n);
  /// to += factor * from
  void (*add_scaled)(const float* from, float factor, float* to, std::size_t n);
  /// to += now - before
  void (*add_difference)(const float* now, const float* before, float* to, std::size_t n);

  /// Sum of squares.
  float (*square_norm)(const float* values, std::size_t n);
};

/// The version for this processor.
const VectorKernels& vector_kernels();

/// The instruction sets that are built and that this machine supports, best first.
std::vector<std::string> instruction_sets();
/// For tests: switches to one of them. `choose_others` selects other tables of kernels too.
/// UsageError if there is no such set.
void use_instruction_set(const std::string& name, const std::function<void()>& choose_others);

}  // namespace evener
