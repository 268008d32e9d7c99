#include "evener/device/cuda/plugin/session.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace evener::cuda {

namespace {

// The gradient of a dense layer is worked out for so many of its units that it takes this much, or
// for one at a time: enough to occupy a card, and no L x H matrix.
constexpr std::size_t kGradientBytes = std::size_t{64} << 20;
// Logits of a chunk of labels: enough to occupy a card, and still in its cache.
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
      imager_(for_network, 1) {
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
  // On a lost card these fail, and then nothing is under way.
  cudaSetDevice(card->number);
  cudaStreamSynchronize(stream);
  cudaStreamSynchronize(copies_);
}

Vectors Session::all_vectors() const {
  const auto at = [&](std::size_t i) { return vectors[std::min(i, vectors.size() - 1)].data(); };
  return {at(0), at(1), at(2)};
}

void Session::begin(const Batch& batch, const Step& step, bool grouped) {
  if (slots_[1 - current_].key.is(batch, step, grouped)) {
    current_ = 1 - current_;
  } else {
    fill(slots_[current_], batch, step, grouped);
  }
  BatchSlot& slot = slots_[current_];
  slot.key.step = 0;  // used up: the same step again would be another batch
  slot.arrived.hold(stream);
}

void Session::prepare(const Batch& batch, const Step& step) {
  fill(slots_[1 - current_], batch, step, true);
}

void Session::fill(BatchSlot& slot, const Batch& batch, const Step& step, bool grouped) {
  slot.key.step = 0;  // until all of it is on its way
  imager_.make(batch, mask(0, step), grouped, slot.image);
  slot.arrived.wait();  // a batch that was prepared and not wanted may still be on its way
  const std::vector<std::uint32_t>& words = slot.image.words;
  slot.staged.grow(words.size());
  slot.words.grow(words.size());
  std::copy(words.begin(), words.end(), slot.staged.data());
  copy_to_card(copies_, slot.words.data(),
               std::span<const std::uint32_t>(slot.staged.data(), words.size()));
  slot.arrived.record(copies_);
  slot.key.set(batch, step, grouped);
}

DropoutMask Session::mask(std::size_t layer, const Step& step) const {
  const float rate = layer == 0 ? training.input_dropout : training.dropout;
  return {step.number == 0 ? 0.0F : rate, training.seed, step.number,
          static_cast<std::uint32_t>(layer)};
}

}  // namespace evener::cuda
