#include "evener/device/cuda/plugin/cuda_replica.h"

#include <algorithm>

#include "evener/device/accelerator/replica_on.h"
#include "evener/device/cuda/plugin/layers.h"
#include "evener/device/cuda/plugin/merges.h"

namespace evener::cuda {

namespace {

class CudaReplica final : public accelerator::ReplicaOn<Layers> {
 public:
  CudaReplica(std::shared_ptr<OpenCard> card, const Network& network, const Training& training)
      : ReplicaOn(std::move(card), network, training) {}

  bool sum_blocks(const Blocks& blocks, std::span<Replica* const> replicas,
                  std::span<const float> weights, std::span<float> values) override;
  bool adopt_blocks(const Blocks& blocks, Replica& owner) override;

 private:
  /// Sets `merges_` for these replicas; false if they cannot merge.
  bool connect(std::span<CudaReplica* const> replicas);

  CardArray<float> merged_;         // blocks, packed
  std::unique_ptr<Merges> merges_;  // on the replica that sums
  std::vector<int> merging_;        // the cards of merges_
};

bool CudaReplica::connect(std::span<CudaReplica* const> replicas) {
  std::vector<int> cards;
  for (CudaReplica* replica : replicas) cards.push_back(replica->session().card->number);
  if (cards == merging_) return merges_ != nullptr;
  merges_.reset();
  merging_ = cards;
  std::sort(cards.begin(), cards.end());
  if (std::adjacent_find(cards.begin(), cards.end()) != cards.end()) return false;
  merges_ = make_merges(merging_);
  return merges_ != nullptr;
}

// Each card packs its blocks; NCCL writes their weighted sum to all of them.
bool CudaReplica::sum_blocks(const Blocks& blocks, std::span<Replica* const> replicas,
                             std::span<const float> weights, std::span<float> values) {
  const std::size_t size = copies_.rows().packed_size(blocks);
  const std::size_t most = session().layout.size;
  std::vector<CudaReplica*> all;
  for (Replica* replica : replicas) {
    auto* on_card = dynamic_cast<CudaReplica*>(replica);
    if (on_card == nullptr) return false;
    if (on_card->merged_.size() < size &&
        !on_card->session().footprint.has_room_for(most * sizeof(float))) {
      return false;
    }
    all.push_back(on_card);
  }
  return guarded("merging replicas", [&] {
    if (!connect(all)) return false;
    std::vector<Merges::Member> members;
    for (std::size_t i = 0; i < all.size(); ++i) {
      CudaReplica& replica = *all[i];
      replica.guarded("merging replicas", [&] {
        if (replica.merged_.size() < size) replica.merged_.renew(most);
        replica.copies_.rows().pack_blocks(replica.vector_at(0), blocks, replica.merged_.data());
      });
      members.push_back({replica.merged_.data(), weights[i], replica.session().stream});
    }
    merges_->merge(members, size);
    for (CudaReplica* replica : all) {
      replica->guarded("merging replicas", [&] { replica->session().wait(); });
    }
    use(*session().card);
    copies_.rows().unpack_blocks(vector_at(0), blocks, merged_.data());
    copies_.store(vector_at(0), blocks, values);
    return true;
  });
}

bool CudaReplica::adopt_blocks(const Blocks& blocks, Replica& owner) {
  if (&owner == this) return true;  // already has it
  if (dynamic_cast<CudaReplica*>(&owner) == nullptr) return false;
  guarded("merging replicas",
          [&] { copies_.rows().unpack_blocks(vector_at(0), blocks, merged_.data()); });
  return true;
}

}  // namespace

std::unique_ptr<Replica> make_cuda_replica(std::shared_ptr<OpenCard> card, const Network& network,
                                           const Training& training) {
  const OpenCard& opened = *card;
  return named_on(opened, "making room for the model", [&]() -> std::unique_ptr<Replica> {
    return std::make_unique<CudaReplica>(card, network, training);
  });
}

}  // namespace evener::cuda
