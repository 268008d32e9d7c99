// The losses, and the search for the best labels, over a chunk of labels.
#include "evener/device/cuda/plugin/launch.h"

namespace evener::cuda {

namespace {

/// The part of a sample's row that a block works on: block b has slice b % slices of sample
/// b / slices.
struct Part {
  std::size_t sample;
  unsigned slice;
  float* logits;  // of the sample
  std::uint32_t begin, end;
  std::size_t statistics;  // where its statistics go
};

__device__ Part own_part(const Chunk& chunk) {
  Part part;
  part.sample = blockIdx.x / chunk.slices;
  part.slice = blockIdx.x % chunk.slices;
  part.logits = chunk.logits + part.sample * chunk.stride;
  const std::uint64_t labels = chunk.labels;
  part.begin = static_cast<std::uint32_t>(labels * part.slice / chunk.slices);
  part.end = static_cast<std::uint32_t>(labels * (part.slice + 1) / chunk.slices);
  part.statistics = (chunk.before + part.slice) * chunk.samples + part.sample;
  return part;
}

std::size_t parts_of(const Chunk& chunk) {
  return chunk.count * chunk.slices;
}

__global__ void target_logits_kernel(Chunk chunk, Targets targets, float* out) {
  for (std::size_t i = targets.begin + own_item(); i < targets.end; i += items_apart()) {
    const std::uint32_t label = targets.labels[i] - chunk.first;
    out[i] = chunk.logits[targets.samples[i] * chunk.stride + label] + chunk.bias[label];
  }
}

// A row has each label once, so threads do not conflict.
__global__ void subtract_targets_kernel(Chunk chunk, Targets targets) {
  for (std::size_t i = targets.begin + own_item(); i < targets.end; i += items_apart()) {
    const std::uint32_t label = targets.labels[i] - chunk.first;
    chunk.logits[targets.samples[i] * chunk.stride + label] -= targets.weights[i];
  }
}

__global__ void exponentiate_kernel(Chunk chunk, float* tops, float* sums) {
  const Part part = own_part(chunk);
  float top = kLowest;
  for (std::uint32_t i = part.begin + threadIdx.x; i < part.end; i += blockDim.x) {
    top = Larger()(part.logits[i] + chunk.bias[i], top);
  }
  top = reduce(top, Larger());
  float sum = 0;
  for (std::uint32_t i = part.begin + threadIdx.x; i < part.end; i += blockDim.x) {
    const float e = std::exp(part.logits[i] + chunk.bias[i] - top);
    part.logits[i] = e;
    sum += e;
  }
  sum = reduce(sum, Plus());
  if (threadIdx.x == 0) {
    tops[part.statistics] = top;
    sums[part.statistics] = sum;
  }
}

// One block per sample; each thread has its own slices.
__global__ void normalise_kernel(Normaliser n) {
  const std::size_t sample = blockIdx.x;
  float top = kLowest;
  for (std::size_t slice = threadIdx.x; slice < n.slices; slice += blockDim.x) {
    top = Larger()(n.slice_tops[slice * n.samples + sample], top);
  }
  top = reduce(top, Larger());
  float total = 0;
  for (std::size_t slice = threadIdx.x; slice < n.slices; slice += blockDim.x) {
    const std::size_t at = slice * n.samples + sample;
    total += n.slice_sums[at] * rescaling(n.slice_tops[at], top);
  }
  total = reduce(total, Plus());
  const float factor = n.shares[sample] / total;
  for (std::size_t slice = threadIdx.x; slice < n.slices; slice += blockDim.x) {
    const std::size_t at = slice * n.samples + sample;
    n.slice_tops[at] = rescaling(n.slice_tops[at], top) * factor;
  }
  if (threadIdx.x == 0) {
    n.tops[sample] = top;
    n.totals[sample] = total;
    n.factors[sample] = factor;
  }
}

__global__ void rescale_kernel(Chunk chunk, const float* scales) {
  const Part part = own_part(chunk);
  const float scale = scales[part.statistics];
  for (std::uint32_t i = part.begin + threadIdx.x; i < part.end; i += blockDim.x) {
    part.logits[i] *= scale;
  }
}

__global__ void softmax_again_kernel(Chunk chunk, const float* tops, const float* factors) {
  const Part part = own_part(chunk);
  const float top = tops[part.sample], factor = factors[part.sample];
  for (std::uint32_t i = part.begin + threadIdx.x; i < part.end; i += blockDim.x) {
    part.logits[i] = std::exp(part.logits[i] + chunk.bias[i] - top) * factor;
  }
}

__global__ void pointwise_kernel(Chunk chunk, Loss loss, const float* shares, float* sums) {
  const Part part = own_part(chunk);
  const float share = shares[part.sample];
  float sum = 0;
  for (std::uint32_t i = part.begin + threadIdx.x; i < part.end; i += blockDim.x) {
    const PointLoss point = point_loss(loss, part.logits[i] + chunk.bias[i]);
    part.logits[i] = share * point.gradient;
    sum += point.loss;
  }
  sum = reduce(sum, Plus());
  if (threadIdx.x == 0) sums[part.statistics] = sum;
}

// One block per sample.
__global__ void sum_slices_kernel(const float* sums, std::size_t slices, std::size_t samples,
                                  float* totals) {
  const std::size_t sample = blockIdx.x;
  float total = 0;
  for (std::size_t slice = threadIdx.x; slice < slices; slice += blockDim.x) {
    total += sums[slice * samples + sample];
  }
  total = reduce(total, Plus());
  if (threadIdx.x == 0) totals[sample] = total;
}

struct Ranked {
  float logit;
  std::uint32_t label;
};
struct Better {
  __device__ Ranked operator()(Ranked a, Ranked b) const {
    return ranks_before(b.logit, b.label, a.logit, a.label) ? b : a;
  }
};

// The order of labels has no ties, so the j-th best is the best of those that come after the one
// before it: `keep` walks over the slice, which stays in the cache. Empty places of a list hold
// kLowest, which nothing ranks after.
__global__ void offer_kernel(Chunk chunk, unsigned keep, BestLabels from, BestLabels to) {
  const Part part = own_part(chunk);
  const std::size_t list = (part.slice * chunk.samples + part.sample) * keep;
  Ranked last{0, 0};
  for (unsigned j = 0; j < keep; ++j) {
    Ranked best{kLowest, 0};
    const auto consider = [&](float logit, std::uint32_t label) {
      if (j > 0 && !ranks_before(last.logit, last.label, logit, label)) return;
      best = Better()(best, Ranked{logit, label});
    };
    for (std::uint32_t i = part.begin + threadIdx.x; i < part.end; i += blockDim.x) {
      consider(part.logits[i] + chunk.bias[i], chunk.first + i);
    }
    for (unsigned i = threadIdx.x; i < keep; i += blockDim.x) {
      consider(from.logits[list + i], from.labels[list + i]);
    }
    last = reduce(best, Better());
    if (threadIdx.x == 0) {
      to.logits[list + j] = last.logit;
      to.labels[list + j] = last.label;
    }
  }
}

__global__ void clear_best_kernel(BestLabels best, std::size_t size) {
  for (std::size_t i = own_item(); i < size; i += items_apart()) {
    best.logits[i] = kLowest;
    best.labels[i] = 0;
  }
}

}  // namespace

void target_logits(cudaStream_t stream, const Chunk& chunk, const Targets& targets, float* out) {
  if (targets.begin == targets.end) return;
  launch("target_logits", target_logits_kernel, blocks_for(targets.end - targets.begin), kThreads,
         stream, chunk, targets, out);
}

void subtract_targets(cudaStream_t stream, const Chunk& chunk, const Targets& targets) {
  if (targets.begin == targets.end) return;
  launch("subtract_targets", subtract_targets_kernel, blocks_for(targets.end - targets.begin),
         kThreads, stream, chunk, targets);
}

void exponentiate(cudaStream_t stream, const Chunk& chunk, float* tops, float* sums) {
  launch("exponentiate", exponentiate_kernel, parts_of(chunk), kThreads, stream, chunk, tops, sums);
}

void normalise(cudaStream_t stream, const Normaliser& normaliser, std::size_t count) {
  launch("normalise", normalise_kernel, count, threads_for(normaliser.slices), stream, normaliser);
}

void rescale(cudaStream_t stream, const Chunk& chunk, const float* scales) {
  launch("rescale", rescale_kernel, parts_of(chunk), kThreads, stream, chunk, scales);
}

void softmax_again(cudaStream_t stream, const Chunk& chunk, const float* tops,
                   const float* factors) {
  launch("softmax_again", softmax_again_kernel, parts_of(chunk), kThreads, stream, chunk, tops,
         factors);
}

void pointwise(cudaStream_t stream, const Chunk& chunk, Loss loss, const float* shares,
               float* sums) {
  launch("pointwise", pointwise_kernel, parts_of(chunk), kThreads, stream, chunk, loss, shares,
         sums);
}

void sum_slices(cudaStream_t stream, const float* sums, std::size_t slices, std::size_t samples,
                std::size_t count, float* totals) {
  launch("sum_slices", sum_slices_kernel, count, threads_for(slices), stream, sums, slices, samples,
         totals);
}

void offer(cudaStream_t stream, const Chunk& chunk, unsigned keep, const BestLabels& from,
           const BestLabels& to) {
  launch("offer", offer_kernel, parts_of(chunk), kThreads, stream, chunk, keep, from, to);
}

void clear_best(cudaStream_t stream, const BestLabels& best, std::size_t size) {
  launch("clear_best", clear_best_kernel, blocks_for(size), kThreads, stream, best, size);
}

}  // namespace evener::cuda
