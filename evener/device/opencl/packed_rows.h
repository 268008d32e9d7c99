// Packed rows of a vector on the device, and copies of them; accelerator/row_copies.h has their
// order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "evener/device/opencl/session.h"

namespace evener::opencl {

class PackedRows {
 public:
  using Vector = const cl::Buffer&;

  explicit PackedRows(Session& session) : session_(session) {}

  void write(Vector vector, std::size_t offset, std::span<const float> values) const {
    opencl::write(*session_.context, vector, values, offset);
  }
  void read(Vector vector, std::size_t offset, std::span<float> values) const {
    opencl::read(*session_.context, vector, values, offset);
  }
  void zero(Vector vector, std::size_t offset) const;
  void reserve(std::size_t rows, std::size_t width);
  void choose(std::span<const std::uint32_t> rows) const {
    opencl::write(*session_.context, rows_, rows);
  }
  void pack(Vector vector, std::size_t count, std::size_t width) const;
  void unpack(Vector vector, std::size_t count, std::size_t width) const;
  void clear(Vector vector, std::size_t count, std::size_t width) const;
  float* staged() { return host_.data(); }
  void send(std::size_t floats) const {
    opencl::write(*session_.context, packed_, std::span<const float>(host_.data(), floats));
  }
  void fetch(std::size_t floats) {
    opencl::read(*session_.context, packed_, std::span<float>(host_.data(), floats));
  }
  void wait() const { session_.wait(); }

  // into = keep * into + add * from; both are in this context.
  void merge_rows(Vector into, Vector from, std::size_t count, std::size_t width, float keep,
                  float add) const;
  /// From the offset to the end.
  void merge_range(Vector into, Vector from, std::size_t offset, float keep, float add) const;

 private:
  Session& session_;
  cl::Buffer rows_, packed_;
  std::size_t capacity_ = 0;  // rows
  std::vector<float> host_;
};

}  // namespace evener::opencl
