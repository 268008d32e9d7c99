// The shared state of a replica's parts: the device, the program, the model's vectors, and the
// current batch.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "evener/device/accelerator/batch_slots.h"
#include "evener/device/accelerator/footprint.h"
#include "evener/device/opencl/context.h"
#include "evener/device/opencl/memory.h"
#include "evener/device/opencl/program.h"
#include "evener/device/update_rule.h"

namespace evener::opencl {

// The same structures as in the kernels.
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

/// A batch on the device, or being copied to it.
struct DeviceBatch {
  cl::Buffer buffer;
  std::size_t words = 0;  // capacity of the buffer
  cl::Event arrived;
};

class Session {
 public:
  Session(std::shared_ptr<Context> context, const Network& network, const Training& training,
          const std::string& cache_directory);

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { drain(); }
  /// Waits for all work in progress and ignores its errors: copies must not outlive their memory.
  void drain() const;

  // As in accelerator::BatchSlots.
  void begin(const Batch& batch, const Step& step, bool grouped) {
    slots_.begin(*this, batch, step, grouped);
  }
  void prepare(const Batch& batch, const Step& step) { slots_.prepare(*this, batch, step); }
  const BatchImage& image() const { return slots_.image(); }
  const cl::Buffer& batch() const { return slots_.copy().buffer; }
  // The Link of BatchSlots.
  static void await_copy(DeviceBatch& batch);
  void start_copy(DeviceBatch& batch, const std::vector<std::uint32_t>& words);
  void hold_for(const DeviceBatch& batch);

  /// Starts the work on the queue.
  void flush() const { context->queue.flush(); }
  /// Waits until all of it has ended.
  void wait() const { finish(*context); }

  std::size_t groups() const { return image().samples / panel; }

  const cl::Buffer& parameters() const { return vectors.front(); }
  /// The optimizer's state; without state, a buffer that the kernels do not access.
  const cl::Buffer& state(std::size_t i) const { return vectors[std::min(i, vectors.size() - 1)]; }

  // Strides of a matrix of `units` units, for batches of up to `capacity` samples.
  cl_uint2 columns_of(std::size_t width) const;
  cl_uint2 rows_of(std::size_t width) const;
  cl_uint2 plain_rows_of(std::size_t width) const { return strides(panel, width); }

  Dropout dropout(std::size_t layer, const Step& step) const {
    return dropout_for(accelerator::dropout_mask(training, layer, step));
  }

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
  cl::CommandQueue copies_;
  accelerator::BatchSlots<DeviceBatch> slots_;
};

}  // namespace evener::opencl
