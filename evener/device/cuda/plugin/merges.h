// Weighted merges between replicas on several cards, card to card (NCCL) instead of through the
// host's memory. The runtime does not call this yet: it merges through the host, which works for
// any mix of devices.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <cuda_runtime_api.h>

namespace evener::cuda {

class Merges {
 public:
  /// Between these cards, each named once.
  explicit Merges(std::span<const int> cards);
  Merges(const Merges&) = delete;
  Merges& operator=(const Merges&) = delete;
  ~Merges();

  /// A card's part in a merge.
  struct Member {
    float* vector;        // on the card
    float weight;         // the weights of a plain average add up to 1
    cudaStream_t stream;  // of the card; the merge takes its turn there
  };
  /// Every vector becomes the sum of weight * vector over all members, one for each card and in the
  /// cards' order. Puts that on the streams and returns; DeviceError where NCCL refuses.
  void merge(std::span<const Member> members, std::size_t size);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace evener::cuda
