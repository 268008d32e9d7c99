// Buffers on the device and copies to and from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "evener/device/opencl/context.h"
#include "evener/device/opencl/faults.h"

namespace evener::opencl {

/// Zero-filled floats (or words) on a device.
inline cl::Buffer make_buffer(const Context& context, std::size_t floats) {
  before_call("allocation");
  const std::size_t bytes = std::max<std::size_t>(floats, 1) * sizeof(float);
  cl::Buffer buffer(context.context, CL_MEM_READ_WRITE, bytes);
  context.queue.enqueueFillBuffer(buffer, cl_uint{0}, 0, bytes);
  return buffer;
}

/// Asynchronous on the queue; `data` must not change until later work on the queue has ended.
template <class T>
void write(const Context& context, const cl::Buffer& buffer, std::span<const T> data,
           std::size_t offset = 0) {
  before_call("copy to the device");
  if (data.empty()) return;
  context.queue.enqueueWriteBuffer(buffer, CL_FALSE, offset * sizeof(T), data.size_bytes(),
                                   data.data());
}

/// Asynchronous on the queue; `data` is valid after finish().
template <class T>
void read(const Context& context, const cl::Buffer& buffer, std::span<T> data,
          std::size_t offset = 0) {
  before_call("copy from the device");
  if (data.empty()) return;
  context.queue.enqueueReadBuffer(buffer, CL_FALSE, offset * sizeof(T), data.size_bytes(),
                                  data.data());
}

inline void finish(const Context& context) {
  before_call("wait");
  context.queue.finish();
}

}  // namespace evener::opencl
