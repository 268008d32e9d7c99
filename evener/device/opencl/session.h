// What the parts of a replica share: the device, the program, the model's vectors, the batch at
// hand and where things lie in it.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "evener/device/batch_image.h"
#include "evener/device/footprint.h"
#include "evener/device/opencl/context.h"
#include "evener/device/opencl/memory.h"
#include "evener/device/opencl/program.h"
#include "evener/device/update_rule.h"

namespace evener::opencl {

// As the structures of the same names in the kernels.
struct Rule {
  cl_float rate, momentum, beta2, root_scale, epsilon, l2, clip;
};
struct Dropout {
  cl_uint threshold, key;
  cl_float scale;
};
Rule rule_for(const UpdateRule& rule);
Dropout dropout_for(const DropoutMask& mask);

inline cl_uint word(std::size_t value) {
  return static_cast<cl_uint>(value);
}
inline cl_ulong offset64(std::size_t value) {
  return value;
}
cl_uint2 strides(std::size_t x, std::size_t y);

/// A layer's outputs for the batch in both layouts, and the loss's gradient at them.
struct Activity {
  std::size_t units = 0, width = 0;
  cl::Buffer columns, rows, error;
};

/// A batch on its way to the device or there. There are two, so that the next one can be made ready
/// while the device works on this one.
struct BatchSlot {
  BatchImage image;
  cl::Buffer buffer;
  std::size_t words = 0;  // that the buffer holds
  BatchKey key;
  cl::Event arrived;
};

class Session {
 public:
  Session(std::shared_ptr<Context> context, const Network& network, const Training& training,
          const std::string& cache_directory);

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { drain(); }
  /// Waits for what is under way, whatever becomes of it: copies must not outlive their memory.
  void drain() const;

  /// Makes this the batch at hand, unless `prepare` has it ready. `grouped`: it will be trained on.
  void begin(const Batch& batch, const Step& step, bool grouped);
  /// Makes a batch ready beside the one at hand.
  void prepare(const Batch& batch, const Step& step);

  const BatchImage& image() const { return slots_[current_].image; }
  const cl::Buffer& batch() const { return slots_[current_].buffer; }
  std::size_t groups() const { return image().samples / panel; }

  const cl::Buffer& parameters() const { return vectors.front(); }
  /// The optimizer's state; where it keeps none the kernels get a buffer they do not touch.
  const cl::Buffer& state(std::size_t i) const { return vectors[std::min(i, vectors.size() - 1)]; }

  // Strides of a matrix of so many units, for batches of up to `capacity` samples.
  cl_uint2 columns_of(std::size_t width) const;
  cl_uint2 rows_of(std::size_t width) const;
  cl_uint2 plain_rows_of(std::size_t width) const { return strides(panel, width); }

  /// Layer 0 is the input; step number 0 means prediction, which drops nothing.
  DropoutMask mask(std::size_t layer, const Step& step) const;

  std::shared_ptr<Context> context;
  Network network;
  Training training;
  Layout layout;
  Footprint footprint;
  Program program;
  std::size_t panel;
  std::size_t capacity = 0;  // samples that buffers were made for
  std::vector<cl::Buffer> vectors;

 private:
  void fill(BatchSlot& slot, const Batch& batch, const Step& step, bool grouped);

  BatchImager imager_;
  cl::CommandQueue copies_;
  std::array<BatchSlot, 2> slots_;
  std::size_t current_ = 0;
};

}  // namespace evener::opencl
