// CUDA's runtime on the host, as far as evener/device/cuda/plugin calls it: two "cards" whose
// memory is the heap, whose streams run when something waits for them, and whose kernels run here,
// the threads of a block in turns. For tests: it finds errors in indexing and order, but not races
// between barriers.
#pragma once

#include <cstddef>
#include <functional>

// Built-in variables of kernels.
#define __global__
#define __device__
#define __host__
#define __shared__ static  // blocks run one after the other

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3() = default;
  explicit dim3(unsigned of_x) : x(of_x) {}
};
extern dim3 threadIdx, blockIdx, blockDim, gridDim;
void __syncthreads();

enum cudaError_t { cudaSuccess = 0, cudaErrorMemoryAllocation = 2, cudaErrorInvalidValue = 11 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum cudaDeviceAttr { cudaDevAttrComputeCapabilityMajor, cudaDevAttrComputeCapabilityMinor };
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2 };
using cudaStream_t = struct EmulatedStream*;
using cudaEvent_t = struct EmulatedEvent*;
struct cudaDeviceProp {
  char name[256];
  int major, minor;
  std::size_t totalGlobalMem;
};

cudaError_t cudaGetLastError();
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int card);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int card);
cudaError_t cudaSetDevice(int card);
cudaError_t cudaMemGetInfo(std::size_t* available, std::size_t* all);

cudaError_t cudaMalloc(void** memory, std::size_t bytes);
cudaError_t cudaFree(void* memory);
cudaError_t cudaMallocHost(void** memory, std::size_t bytes);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);

struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  cudaStream_t stream;
};

namespace emulated {

/// Puts work on a stream: it is done when something waits for the stream, not before.
void enqueue(cudaStream_t stream, std::function<void()> work);
/// Whether the calling thread has chosen the card that the stream is of, as launches demand.
bool is_chosen(cudaStream_t stream);
/// Calls `thread` once for every thread of every block.
void run_grid(unsigned blocks, unsigned threads, const std::function<void()>& thread);

}  // namespace emulated
