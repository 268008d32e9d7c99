// Our CUDA kernels, as functions that launch them on a stream. Matrices are row-major: one row per
// sample, `stride` floats apart; the padding after a row's last unit is zero and stays zero. A
// failed launch throws DeviceError.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "evener/device/cuda/arithmetic.h"

namespace evener::cuda {

// layers.cu

/// A layer's sums without bias become its outputs: bias, activation, dropout.
void activate(cudaStream_t stream, float* values, std::size_t stride, std::size_t count,
              std::size_t units, const float* bias, Activation activation, const Dropout& dropout);

/// The gradient at a layer's outputs becomes that at its sums.
void derive(cudaStream_t stream, const float* outputs, float* error, std::size_t stride,
            std::size_t count, std::size_t units, Activation activation, const Dropout& dropout);

/// Sparse rows, as in device/batch_image.h.
struct SparseRows {
  const std::uint32_t* offsets;
  const std::uint32_t* features;
  const float* values;
};
/// As a dense matrix, which is zero before.
void scatter(cudaStream_t stream, const SparseRows& rows, std::size_t count, float* dense,
             std::size_t stride);

// Packed rows of a vector, for one copy to or from the host: packed[i] = vector[rows[i]].
void pack_rows(cudaStream_t stream, const float* vector, const std::uint32_t* rows,
               std::size_t count, std::size_t width, float* packed);
void unpack_rows(cudaStream_t stream, float* vector, const std::uint32_t* rows, std::size_t count,
                 std::size_t width, const float* packed);
void clear_rows(cudaStream_t stream, float* vector, const std::uint32_t* rows, std::size_t count,
                std::size_t width);

void scale(cudaStream_t stream, float* vector, std::size_t size, float factor);

// losses.cu: over a chunk of labels

/// Logits of labels [first, first + labels), without biases: the first kernel that reads the logits
/// adds them. Each row is divided among `slices` blocks of threads; slice i writes its statistics
/// of sample s to [(before + i) * samples + s].
struct Chunk {
  float* logits;
  std::size_t stride;
  const float* bias;  // of label `first`
  std::uint32_t first, labels;
  std::size_t count;  // samples of the batch
  unsigned slices;
  std::size_t before;   // slices of earlier chunks
  std::size_t samples;  // capacity
};

/// Targets [begin, end) of the image, those of the chunk.
struct Targets {
  const std::uint32_t* labels;
  const std::uint32_t* samples;
  const float* weights;
  std::uint32_t begin, end;
};
void target_logits(cudaStream_t stream, const Chunk& chunk, const Targets& targets, float* out);
void subtract_targets(cudaStream_t stream, const Chunk& chunk, const Targets& targets);

/// Softmax, first pass: writes exp(logit - largest of the slice), the largest and the sum.
void exponentiate(cudaStream_t stream, const Chunk& chunk, float* tops, float* sums);

/// Per sample, over all `slices` slices of all chunks: largest logit, sum, share / sum; and in
/// `slice_tops` the factor for the exponentials of each slice.
struct Normaliser {
  float* slice_tops;
  const float* slice_sums;
  std::size_t slices, samples;
  const float* shares;
  float* tops;
  float* totals;
  float* factors;
};
void normalise(cudaStream_t stream, const Normaliser& normaliser, std::size_t count);

/// Converts kept exponentials to the gradient (without the targets).
void rescale(cudaStream_t stream, const Chunk& chunk, const float* scales);
/// The same for logits that were computed again.
void softmax_again(cudaStream_t stream, const Chunk& chunk, const float* tops,
                   const float* factors);

/// Element-wise losses with all targets 0: share * gradient in place of the logits.
void pointwise(cudaStream_t stream, const Chunk& chunk, Loss loss, const float* shares,
               float* sums);
void sum_slices(cudaStream_t stream, const float* sums, std::size_t slices, std::size_t samples,
                std::size_t count, float* totals);

/// The best `keep` labels of each slice and sample, at [(slice * samples + sample) * keep].
struct BestLabels {
  float* logits;
  std::uint32_t* labels;
};
/// The best of those of earlier chunks (`from`) and of this one.
void offer(cudaStream_t stream, const Chunk& chunk, unsigned keep, const BestLabels& from,
           const BestLabels& to);
/// No labels yet.
void clear_best(cudaStream_t stream, const BestLabels& best, std::size_t size);

// updates.cu

/// Parameters and optimizer state, whole vectors; state that the rule does not keep is not touched.
struct Vectors {
  float* weight;
  float* first;
  float* second;
};

/// Sums over samples: the gradient of the biases.
void column_sums(cudaStream_t stream, const float* gradient, std::size_t stride, std::size_t count,
                 std::size_t units, float* out);

/// Rows of `width` weights from `weights` on, and their biases, from their gradients.
void update_rows(cudaStream_t stream, const UpdateRule& rule, const Vectors& vectors,
                 std::size_t weights, std::size_t biases, std::size_t units, std::size_t width,
                 const float* gradient, const float* bias_gradient);

/// The batch grouped by feature, as in device/batch_image.h; the last slot is the bias.
struct Slots {
  const std::uint32_t* features;
  const std::uint32_t* begins;
  const std::uint32_t* samples;
  const float* values;
  std::size_t count;
};
/// The rows of the batch's features, from the gradient at the first layer's sums.
void update_slots(cudaStream_t stream, const UpdateRule& rule, const Vectors& vectors,
                  std::size_t weights, std::size_t bias, std::size_t width, const Slots& slots,
                  const float* error);

}  // namespace evener::cuda
