// Updates of parameters. cuBLAS computes the gradient of a dense layer, a piece at a time; the
// gradient of a sparse input row is summed here.
#include <type_traits>

#include "evener/device/cuda/plugin/launch.h"

namespace evener::cuda {

namespace {

__global__ void column_sums_kernel(const float* gradient, std::size_t stride, std::size_t count,
                                   std::size_t units, float* out) {
  for (std::size_t unit = own_item(); unit < units; unit += items_apart()) {
    float sum = 0;
    for (std::size_t s = 0; s < count; ++s) sum += gradient[s * stride + unit];
    out[unit] = sum;
  }
}

template <Optimizer kOptimizer>
__device__ void update_at(const UpdateRule& rule, const Vectors& vectors, std::size_t at, float l2,
                          float g) {
  update<kOptimizer>(rule, l2, g, vectors.weight + at, vectors.first + at, vectors.second + at);
}

// One block per unit: its row is clipped together with its bias.
template <Optimizer kOptimizer>
__global__ void update_rows_kernel(UpdateRule rule, Vectors vectors, std::size_t weights,
                                   std::size_t biases, std::size_t width, const float* gradient,
                                   const float* bias_gradient) {
  const std::size_t unit = blockIdx.x;
  const float* row = gradient + unit * width;
  const float bias = bias_gradient[unit];
  float factor = 1;
  if (rule.clip > 0) {
    float squares = 0;
    for (std::size_t i = threadIdx.x; i < width; i += blockDim.x) squares += row[i] * row[i];
    factor = clip_factor(rule.clip, reduce(squares, Plus()) + bias * bias);
  }
  for (std::size_t i = threadIdx.x; i < width; i += blockDim.x) {
    update_at<kOptimizer>(rule, vectors, weights + unit * width + i, rule.l2, row[i] * factor);
  }
  if (threadIdx.x == 0) {
    update_at<kOptimizer>(rule, vectors, biases + unit, 0, bias * factor);
  }
}

/// One float of the gradient of an input row: over the row's occurrences, value * error.
__device__ float slot_gradient(const Slots& slots, std::uint32_t begin, std::uint32_t end,
                               const float* error, std::size_t width, std::size_t i) {
  float sum = 0;
  for (std::uint32_t at = begin; at < end; ++at) {
    sum += slots.values[at] * error[slots.samples[at] * width + i];
  }
  return sum;
}

// One block per slot. Clipping computes the gradient twice.
template <Optimizer kOptimizer>
__global__ void update_slots_kernel(UpdateRule rule, Vectors vectors, std::size_t weights,
                                    std::size_t bias, std::size_t width, Slots slots,
                                    const float* error) {
  const std::size_t slot = blockIdx.x;
  const bool is_bias = slot + 1 == slots.count;  // it has no entry in `features`
  const std::size_t row = is_bias ? bias : weights + slots.features[slot] * width;
  const std::uint32_t begin = slots.begins[slot], end = slots.begins[slot + 1];
  const float l2 = is_bias ? 0.0F : rule.l2;
  float factor = 1;
  if (rule.clip > 0) {
    float squares = 0;
    for (std::size_t i = threadIdx.x; i < width; i += blockDim.x) {
      const float g = slot_gradient(slots, begin, end, error, width, i);
      squares += g * g;
    }
    factor = clip_factor(rule.clip, reduce(squares, Plus()));
  }
  for (std::size_t i = threadIdx.x; i < width; i += blockDim.x) {
    const float g = slot_gradient(slots, begin, end, error, width, i);
    update_at<kOptimizer>(rule, vectors, row + i, l2, g * factor);
  }
}

template <Optimizer kOptimizer>
using Constant = std::integral_constant<Optimizer, kOptimizer>;

/// Calls f with the optimizer as a constant of its type.
template <class F>
void with_optimizer(Optimizer optimizer, F f) {
  switch (optimizer) {
    case Optimizer::sgd:
      return f(Constant<Optimizer::sgd>());
    case Optimizer::momentum:
      return f(Constant<Optimizer::momentum>());
    case Optimizer::adam:
      return f(Constant<Optimizer::adam>());
    case Optimizer::adagrad:
      return f(Constant<Optimizer::adagrad>());
    case Optimizer::accumulate:
      return f(Constant<Optimizer::accumulate>());
  }
}

}  // namespace

void column_sums(cudaStream_t stream, const float* gradient, std::size_t stride, std::size_t count,
                 std::size_t units, float* out) {
  launch("column_sums", column_sums_kernel, blocks_for(units), kThreads, stream, gradient, stride,
         count, units, out);
}

void update_rows(cudaStream_t stream, const UpdateRule& rule, const Vectors& vectors,
                 std::size_t weights, std::size_t biases, std::size_t units, std::size_t width,
                 const float* gradient, const float* bias_gradient) {
  with_optimizer(rule.optimizer, [&](auto optimizer) {
    launch("update_rows", update_rows_kernel<decltype(optimizer)::value>, units, threads_for(width),
           stream, rule, vectors, weights, biases, width, gradient, bias_gradient);
  });
}

void update_slots(cudaStream_t stream, const UpdateRule& rule, const Vectors& vectors,
                  std::size_t weights, std::size_t bias, std::size_t width, const Slots& slots,
                  const float* error) {
  with_optimizer(rule.optimizer, [&](auto optimizer) {
    launch("update_slots", update_slots_kernel<decltype(optimizer)::value>, slots.count,
           threads_for(width), stream, rule, vectors, weights, bias, width, slots, error);
  });
}

}  // namespace evener::cuda
