#include "evener/device/opencl/opencl_replica.h"

#include <algorithm>

#include "evener/device/accelerator/replica_on.h"
#include "evener/device/opencl/layers.h"

namespace evener::opencl {

namespace {

class OpenClReplica final : public accelerator::ReplicaOn<Layers> {
 public:
  OpenClReplica(std::shared_ptr<Context> context, const Network& network, const Training& training,
                const std::string& cache_directory)
      : ReplicaOn(std::move(context), network, training, cache_directory) {}

  bool sum_blocks(const Blocks& blocks, std::span<Replica* const> replicas,
                  std::span<const float> weights, std::span<float> values) override;
  bool adopt_blocks(const Blocks& blocks, Replica& owner) override;

 private:
  /// Whether both are parts of one device: their buffers are in one context.
  bool shares_memory_with(const Replica& other) const {
    const auto* neighbour = dynamic_cast<const OpenClReplica*>(&other);
    return neighbour != nullptr &&
           neighbour->backend_.session.context->context() == backend_.session.context->context();
  }

  /// into = keep * into + add * from.
  void merge(const cl::Buffer& into, const cl::Buffer& from, const Blocks& blocks, float keep,
             float add) {
    copies_.rows().merge_range(into, from, blocks.dense, keep, add);
    copies_.in_portions(blocks, [&](std::span<const std::uint32_t> rows) {
      copies_.rows().merge_rows(into, from, rows.size(), blocks.width, keep, add);
    });
    session().wait();
  }

  cl::Buffer sum_;  // sum of a merge
};

bool OpenClReplica::sum_blocks(const Blocks& blocks, std::span<Replica* const> replicas,
                               std::span<const float> weights, std::span<float> values) {
  const bool shared = std::all_of(replicas.begin(), replicas.end(), [&](const Replica* replica) {
    return shares_memory_with(*replica);
  });
  const std::size_t size = session().layout.size;
  if (!shared) return false;
  if (sum_() == nullptr && !session().footprint.has_room_for(size * sizeof(float))) return false;
  guarded("merging replicas", [&] {
    if (sum_() == nullptr) sum_ = make_buffer(*session().context, size);
    for (std::size_t i = 0; i < replicas.size(); ++i) {
      const auto& from = static_cast<OpenClReplica*>(replicas[i])->vector_at(0);
      merge(sum_, from, blocks, i == 0 ? 0.0F : 1.0F, weights[i]);
    }
    copies_.store(sum_, blocks, values);
  });
  return true;
}

bool OpenClReplica::adopt_blocks(const Blocks& blocks, Replica& owner) {
  if (!shares_memory_with(owner)) return false;
  guarded("merging replicas", [&] {
    merge(vector_at(0), static_cast<OpenClReplica&>(owner).sum_, blocks, 0.0F, 1.0F);
  });
  return true;
}

}  // namespace

std::unique_ptr<Replica> make_opencl_replica(std::shared_ptr<Context> context,
                                             const Network& network, const Training& training,
                                             const std::string& cache_directory) {
  return std::make_unique<OpenClReplica>(std::move(context), network, training, cache_directory);
}

}  // namespace evener::opencl
