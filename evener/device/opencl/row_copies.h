// Blocks of a vector between host and device: scattered rows travel packed, in one copy.
#pragma once

#include "evener/device/opencl/session.h"

namespace evener::opencl {

class RowCopies {
 public:
  explicit RowCopies(Session& session) : session_(session) {}

  // All end before they return.
  void load(const cl::Buffer& vector, const Blocks& blocks, std::span<const float> values);
  void store(const cl::Buffer& vector, const Blocks& blocks, std::span<float> values);
  void clear(const cl::Buffer& vector, const Blocks& blocks);
  /// into = keep * into + add * from; both are in this context.
  void merge(const cl::Buffer& into, const cl::Buffer& from, const Blocks& blocks, float keep,
             float add);

 private:
  /// Calls f(rows) for as many rows at a time as the scratch holds, their numbers on the device.
  template <class F>
  void in_portions(const Blocks& blocks, F f);

  Session& session_;
  cl::Buffer rows_, packed_;
  std::size_t capacity_ = 0;  // rows
  std::vector<float> host_;
};

}  // namespace evener::opencl
