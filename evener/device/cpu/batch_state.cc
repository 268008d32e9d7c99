#include "evener/device/cpu/batch_state.h"

#include <algorithm>

namespace evener::cpu {

namespace {

Columns from_panel(const Columns& columns, std::size_t panel) {
  return {columns.data + panel * columns.stride, columns.stride};
}

}  // namespace

void Activity::resize(const Samples& samples) {
  samples_ = samples;
  const std::size_t size = samples.padded * width_;
  if (columns_.size() >= size) return;
  columns_ = FloatBuffer(size);
  rows_ = FloatBuffer(size);
  for (auto& error : errors_) error = FloatBuffer(size);
}

void Activity::activate(Activation activation, const DropoutMask& mask, std::size_t begin,
                        std::size_t end) {
  for (std::size_t p = begin; p < end; ++p) {
    kernels().activate(activation, mask, from_panel(columns(), p), units_, 1, p * kernels().panel);
  }
  fill_rows(begin, end);
}

void Activity::fill_rows(std::size_t begin, std::size_t end) {
  const std::size_t panel = kernels().panel;
  for (std::size_t p = begin; p < end; ++p) {
    const float* from = from_panel(columns(), p).data;
    for (std::size_t unit = 0; unit < width_; unit += panel) {
      kernels().transpose(from + unit * panel, panel,
                          rows_.data() + unit * samples_.padded + p * panel * panel, panel);
    }
  }
}

void Activity::derive(Activation activation, const DropoutMask& mask, std::size_t begin,
                      std::size_t end) {
  for (std::size_t p = begin; p < end; ++p) {
    float* sum = from_panel(error(0), p).data;
    const std::size_t size = width_ * kernels().panel;
    for (std::size_t member = 1; member < errors_.size(); ++member) {
      const float* part = from_panel(error(static_cast<int>(member)), p).data;
      for (std::size_t i = 0; i < size; ++i) sum[i] += part[i];
    }
    kernels().derive(activation, mask, from_panel(columns(), p), from_panel(error(0), p), units_, 1,
                     p * kernels().panel);
  }
}

void Activity::error_rows(float* out, std::size_t begin, std::size_t end) {
  const std::size_t panel = kernels().panel;
  for (std::size_t p = begin; p < end; ++p) {
    const float* from = from_panel(error(0), p).data;
    for (std::size_t unit = 0; unit < width_; unit += panel) {
      kernels().transpose(from + unit * panel, panel, out + p * panel * width_ + unit, width_);
    }
  }
}

}  // namespace evener::cpu
