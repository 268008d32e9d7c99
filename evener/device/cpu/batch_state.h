// The CPU device's state of a batch between layers.
#pragma once

#include <cstddef>
#include <vector>

#include "evener/core/buffer.h"
#include "evener/device/cpu/kernels.h"

namespace evener::cpu {

/// The panels of the current batch.
struct Samples {
  std::size_t count = 0;
  std::size_t panels = 0;
  std::size_t padded = 0;  // panels * panel width

  static Samples of(std::size_t count) {
    const std::size_t width = kernels().panel;
    const std::size_t panels = (count + width - 1) / width;
    return {count, panels, panels * width};
  }
};

/// The outputs of one layer's units for the batch, in both layouts of kernels.h, and the loss's
/// gradient at them: one partial sum for each member of the team.
class Activity {
 public:
  Activity(std::size_t units, int members)
      : units_(units), width_(padded(units)), errors_(static_cast<std::size_t>(members)) {}

  void resize(const Samples& samples);

  std::size_t units() const { return units_; }
  std::size_t width() const { return width_; }
  Columns columns() { return {columns_.data(), width_ * kernels().panel}; }
  float* rows() { return rows_.data(); }
  Columns error(int member) {
    return {errors_[static_cast<std::size_t>(member)].data(), width_ * kernels().panel};
  }

  /// Panels [begin, end): activation and dropout on the columns, then the rows from them.
  void activate(Activation activation, const DropoutMask& mask, std::size_t begin, std::size_t end);
  /// Panels [begin, end): rows from columns alone (for an input that needs no activation).
  void fill_rows(std::size_t begin, std::size_t end);
  /// Panels [begin, end): sums the members' errors, in member order, into the first one, and
  /// applies the activation's derivative.
  void derive(Activation activation, const DropoutMask& mask, std::size_t begin, std::size_t end);
  /// Panels [begin, end): the first error as plain rows, `width` floats per sample.
  void error_rows(float* out, std::size_t begin, std::size_t end);

 private:
  std::size_t units_;
  std::size_t width_;
  Samples samples_;
  FloatBuffer columns_;
  FloatBuffer rows_;
  std::vector<FloatBuffer> errors_;
};

}  // namespace evener::cpu
