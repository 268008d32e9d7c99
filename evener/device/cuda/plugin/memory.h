// Memory of a card, pinned memory of the host, and copies between the two.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include <cuda_runtime_api.h>

#include "evener/device/cuda/plugin/calls.h"

namespace evener::cuda {

/// Allocators.
struct OnCard {
  static void* get(std::size_t bytes) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes), "cudaMalloc");
    return memory;
  }
  static void put(void* memory) { cudaFree(memory); }
};

/// Pinned memory: only copies from and to such memory are asynchronous.
struct OnHost {
  static void* get(std::size_t bytes) {
    void* memory = nullptr;
    check(cudaMallocHost(&memory, bytes), "cudaMallocHost");
    return memory;
  }
  static void put(void* memory) { cudaFreeHost(memory); }
};

template <class T, class Where>
class Array {
 public:
  Array() = default;
  Array(Array&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Array& operator=(Array&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { clear(); }

  void clear() {
    if (data_ != nullptr) Where::put(data_);
    data_ = nullptr;
    size_ = 0;
  }
  /// Resizes without keeping the contents. Frees the old memory first, so that both need not fit.
  void renew(std::size_t size) {
    clear();
    data_ = static_cast<T*>(Where::get(std::max<std::size_t>(size, 1) * sizeof(T)));
    size_ = size;
  }
  /// Reserves memory for `size`, and some more, so that it is rarely reallocated.
  void grow(std::size_t size) {
    if (data_ == nullptr || size > size_) renew(size * 5 / 4);
  }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

template <class T>
using CardArray = Array<T, OnCard>;
template <class T>
using HostArray = Array<T, OnHost>;

template <class T>
void fill_zero(cudaStream_t stream, const CardArray<T>& array) {
  check(cudaMemsetAsync(array.data(), 0, array.size() * sizeof(T), stream), "cudaMemsetAsync");
}

/// Asynchronous on the stream; the host memory must stay valid until it has ended.
template <class T>
void copy_to_card(cudaStream_t stream, T* to, std::span<const T> from) {
  if (from.empty()) return;
  check(cudaMemcpyAsync(to, from.data(), from.size_bytes(), cudaMemcpyHostToDevice, stream),
        "cudaMemcpyAsync to the card");
}
template <class T>
void copy_to_host(cudaStream_t stream, std::span<T> to, const T* from) {
  if (to.empty()) return;
  check(cudaMemcpyAsync(to.data(), from, to.size_bytes(), cudaMemcpyDeviceToHost, stream),
        "cudaMemcpyAsync from the card");
}

inline void copy_on_card(cudaStream_t stream, float* to, const float* from, std::size_t count) {
  if (count == 0) return;
  check(cudaMemcpyAsync(to, from, count * sizeof(float), cudaMemcpyDeviceToDevice, stream),
        "cudaMemcpyAsync on the card");
}

}  // namespace evener::cuda
