// Aligned memory for vectors that kernels stream through.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace evener {

/// Zero-filled floats on a 64-byte boundary; large ones ask the system for huge pages, because a
/// model of hundreds of megabytes otherwise spends its time in TLB misses.
class FloatBuffer {
 public:
  FloatBuffer() = default;
  explicit FloatBuffer(std::size_t size);
  FloatBuffer(FloatBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        owned_(std::exchange(other.owned_, true)) {}
  FloatBuffer& operator=(FloatBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(owned_, other.owned_);
    return *this;
  }
  FloatBuffer(const FloatBuffer&) = delete;
  FloatBuffer& operator=(const FloatBuffer&) = delete;
  ~FloatBuffer();

  /// A buffer over memory that another buffer owns, which must outlive it: for a shared model.
  static FloatBuffer view(FloatBuffer& of) {
    FloatBuffer buffer;
    buffer.data_ = of.data_;
    buffer.size_ = of.size_;
    buffer.owned_ = false;
    return buffer;
  }

  float* data() { return data_; }
  const float* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::span<float> span() { return {data_, size_}; }
  std::span<const float> span() const { return {data_, size_}; }
  float& operator[](std::size_t i) { return data_[i]; }
  float operator[](std::size_t i) const { return data_[i]; }

 private:
  float* data_ = nullptr;
  std::size_t size_ = 0;
  bool owned_ = true;
};

}  // namespace evener
