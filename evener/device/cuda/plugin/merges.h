// Sums over replicas on several cards, from card to card instead of through host memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <cuda_runtime_api.h>

namespace evener::cuda {

class Merges {
 public:
  virtual ~Merges() = default;

  /// A card's part in a merge.
  struct Member {
    float* vector;        // on the card
    float weight;         // the weights of a plain average add up to 1
    cudaStream_t stream;  // of the card; the merge runs on it
  };
  /// Every vector becomes the sum of weight * vector over all members, one for each card and in the
  /// cards' order. Asynchronous on the streams; DeviceError if a card fails.
  virtual void merge(std::span<const Member> members, std::size_t size) = 0;
};

/// Between these cards, each named once; DeviceError if they cannot be connected. Null if the
/// plug-in was built without NCCL.
std::unique_ptr<Merges> make_merges(std::span<const int> cards);

}  // namespace evener::cuda
