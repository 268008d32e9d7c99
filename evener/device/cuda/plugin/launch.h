// Shared by the kernels: launches, the division of work among threads, and sums over a block.
// Launches are function calls, not <<<...>>>, so that any compiler accepts these files: the tests
// run them on the host (tests/device/cuda_host).
#pragma once

#include <algorithm>
#include <utility>

#include <cuda_runtime.h>

#include "evener/device/cuda/plugin/calls.h"
#include "evener/device/cuda/plugin/kernels.h"

namespace evener::cuda {

constexpr unsigned kThreads = 256;            // of a block; a power of two, as reduce() wants
constexpr std::size_t kMostBlocks = 1 << 16;  // for kernels with grid-stride loops

/// Blocks for `items` items of one thread each.
inline std::size_t blocks_for(std::size_t items) {
  return std::min((items + kThreads - 1) / kThreads, kMostBlocks);
}

/// Threads per block for a row: no more than the row needs.
inline unsigned threads_for(std::size_t width) {
  unsigned threads = 32;
  while (threads < kThreads && threads < width) threads *= 2;
  return threads;
}

/// Launches a kernel on the stream. Does nothing for an empty grid, which CUDA does not allow.
/// `name` is for errors.
template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), std::size_t blocks, unsigned threads,
            cudaStream_t stream, Arguments&&... arguments) {
  if (blocks == 0) return;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(threads);
  config.stream = stream;
  check(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...), name);
}

__device__ inline std::size_t own_item() {
  return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ inline std::size_t items_apart() {
  return std::size_t{gridDim.x} * blockDim.x;
}

struct Plus {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Larger {
  __device__ float operator()(float a, float b) const { return a > b ? a : b; }
};

/// Reduces the values of all threads of a block, always in the same order; every thread gets the
/// result. All threads must call it.
template <class T, class Join>
__device__ T reduce(T value, Join join) {
  __shared__ T parts[kThreads];
  __syncthreads();  // the result of an earlier call has been read
  parts[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      parts[threadIdx.x] = join(parts[threadIdx.x], parts[threadIdx.x + half]);
    __syncthreads();
  }
  return parts[0];
}

}  // namespace evener::cuda
