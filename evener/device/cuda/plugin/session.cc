#include "evener/device/cuda/plugin/session.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace evener::cuda {

namespace {

// The gradient of a dense layer is computed in pieces of about this size, but at least one unit:
// enough to occupy a card, without an L x H matrix.
constexpr std::size_t kGradientBytes = std::size_t{64} << 20;
// Size of a chunk of logits: enough to occupy a card, and small enough for its cache.
constexpr std::size_t kChunkBytes = std::size_t{16} << 20;

std::shared_ptr<OpenCard> chosen(std::shared_ptr<OpenCard> card) {
  use(*card);
  return card;
}

}  // namespace

MemoryLimits limits_of(const OpenCard& card, const Network& network) {
  const Layout layout = layout_of(network);
  std::size_t scratch = 0;
  for (std::size_t i = network.sparse_input() ? 1 : 0; i < layout.layers.size(); ++i) {
    const Segment& weight = layout.layers[i].weight;
    const std::size_t most = std::max(kGradientBytes, weight.stride * sizeof(float));
    scratch = std::max(scratch, std::min(most, weight.size() * sizeof(float)));
  }
  return {card.name, card.memory, std::numeric_limits<std::size_t>::max(), kChunkBytes, scratch};
}

Session::Session(std::shared_ptr<OpenCard> opened, const Network& for_network,
                 const Training& for_training)
    : card(chosen(std::move(opened))),
      network(for_network),
      training(for_training),
      layout(layout_of(for_network)),
      limits(limits_of(*card, for_network)),
      footprint(limits, for_network, for_training),
      libraries(stream),
      vectors(1 + static_cast<std::size_t>(state_vectors(for_training.optimizer))),
      slots_(for_network, for_training, 1) {
  for (auto& vector : vectors) {
    vector.renew(layout.size);
    fill_zero(stream, vector);
  }
  stream.wait();
}

Session::~Session() {
  drain();
}

void Session::drain() {
  // On a lost card these calls fail, and then nothing is in progress.
  cudaSetDevice(card->number);
  cudaStreamSynchronize(stream);
  cudaStreamSynchronize(copies_);
}

Vectors Session::all_vectors() const {
  const auto at = [&](std::size_t i) { return vectors[std::min(i, vectors.size() - 1)].data(); };
  return {at(0), at(1), at(2)};
}

void Session::start_copy(CardBatch& batch, const std::vector<std::uint32_t>& words) {
  batch.staged.grow(words.size());
  batch.words.grow(words.size());
  std::copy(words.begin(), words.end(), batch.staged.data());
  copy_to_card(copies_, batch.words.data(),
               std::span<const std::uint32_t>(batch.staged.data(), words.size()));
  batch.arrived.record(copies_);
}

}  // namespace evener::cuda
