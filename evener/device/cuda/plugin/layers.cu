// Hidden layers, the dense form of a batch, and packed rows for copies between host and card.
#include "evener/device/cuda/plugin/launch.h"

namespace evener::cuda {

namespace {

__global__ void activate_kernel(float* values, std::size_t stride, std::size_t count,
                                std::size_t units, const float* bias, Activation activation,
                                Dropout dropout) {
  for (std::size_t i = own_item(); i < count * units; i += items_apart()) {
    const std::size_t sample = i / units, unit = i % units;
    float* value = values + sample * stride + unit;
    *value = unit_output(activation, dropout, *value + bias[unit],
                         static_cast<std::uint32_t>(sample), static_cast<std::uint32_t>(unit));
  }
}

__global__ void derive_kernel(const float* outputs, float* error, std::size_t stride,
                              std::size_t count, std::size_t units, Activation activation,
                              Dropout dropout) {
  for (std::size_t i = own_item(); i < count * units; i += items_apart()) {
    const std::size_t sample = i / units, unit = i % units;
    const std::size_t at = sample * stride + unit;
    error[at] = unit_error(activation, dropout, outputs[at], error[at],
                           static_cast<std::uint32_t>(sample), static_cast<std::uint32_t>(unit));
  }
}

// One block per sample.
__global__ void scatter_kernel(SparseRows rows, float* dense, std::size_t stride) {
  const std::size_t sample = blockIdx.x;
  const std::uint32_t end = rows.offsets[sample + 1];
  for (std::uint32_t i = rows.offsets[sample] + threadIdx.x; i < end; i += blockDim.x) {
    dense[sample * stride + rows.features[i]] = rows.values[i];
  }
}

// One block per row.
__global__ void pack_kernel(const float* vector, const std::uint32_t* rows, std::size_t width,
                            float* packed) {
  const float* from = vector + rows[blockIdx.x] * width;
  float* to = packed + blockIdx.x * width;
  for (std::size_t i = threadIdx.x; i < width; i += blockDim.x) to[i] = from[i];
}

__global__ void unpack_kernel(float* vector, const std::uint32_t* rows, std::size_t width,
                              const float* packed) {
  float* to = vector + rows[blockIdx.x] * width;
  const float* from = packed + blockIdx.x * width;
  for (std::size_t i = threadIdx.x; i < width; i += blockDim.x) to[i] = from[i];
}

__global__ void clear_kernel(float* vector, const std::uint32_t* rows, std::size_t width) {
  float* to = vector + rows[blockIdx.x] * width;
  for (std::size_t i = threadIdx.x; i < width; i += blockDim.x) to[i] = 0;
}

__global__ void scale_kernel(float* vector, std::size_t size, float factor) {
  for (std::size_t i = own_item(); i < size; i += items_apart()) vector[i] *= factor;
}

}  // namespace

void activate(cudaStream_t stream, float* values, std::size_t stride, std::size_t count,
              std::size_t units, const float* bias, Activation activation, const Dropout& dropout) {
  launch("activate", activate_kernel, blocks_for(count * units), kThreads, stream, values, stride,
         count, units, bias, activation, dropout);
}

void derive(cudaStream_t stream, const float* outputs, float* error, std::size_t stride,
            std::size_t count, std::size_t units, Activation activation, const Dropout& dropout) {
  launch("derive", derive_kernel, blocks_for(count * units), kThreads, stream, outputs, error,
         stride, count, units, activation, dropout);
}

void scatter(cudaStream_t stream, const SparseRows& rows, std::size_t count, float* dense,
             std::size_t stride) {
  launch("scatter", scatter_kernel, count, kThreads, stream, rows, dense, stride);
}

void pack_rows(cudaStream_t stream, const float* vector, const std::uint32_t* rows,
               std::size_t count, std::size_t width, float* packed) {
  launch("pack_rows", pack_kernel, count, threads_for(width), stream, vector, rows, width, packed);
}

void unpack_rows(cudaStream_t stream, float* vector, const std::uint32_t* rows, std::size_t count,
                 std::size_t width, const float* packed) {
  launch("unpack_rows", unpack_kernel, count, threads_for(width), stream, vector, rows, width,
         packed);
}

void clear_rows(cudaStream_t stream, float* vector, const std::uint32_t* rows, std::size_t count,
                std::size_t width) {
  launch("clear_rows", clear_kernel, count, threads_for(width), stream, vector, rows, width);
}

void scale(cudaStream_t stream, float* vector, std::size_t size, float factor) {
  launch("scale", scale_kernel, blocks_for(size), kThreads, stream, vector, size, factor);
}

}  // namespace evener::cuda
