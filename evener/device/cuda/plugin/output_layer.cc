#include "evener/device/cuda/plugin/output_layer.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace evener::cuda {

namespace {

// Labels of a slice: a few for each thread of a block. Many slices matter where a batch has few
// samples; the host looks at each slice's best labels.
constexpr std::size_t kSliceLabels = 2048;
constexpr std::size_t kMostSlices = 64;

std::uint32_t word(std::size_t value) {
  return static_cast<std::uint32_t>(value);
}

template <class T>
std::span<T> some(const HostArray<T>& array, std::size_t size) {
  return {array.data(), size};
}

}  // namespace

OutputLayer::OutputLayer(Session& session, DenseLayers& dense)
    : session_(session), dense_(dense), softmax_(session.network.loss == Loss::softmax) {}

void OutputLayer::reserve() {
  const std::size_t samples = session_.capacity;
  chunk_ = session_.footprint.chunk_labels(samples);
  slices_ = static_cast<unsigned>(
      std::clamp<std::size_t>(chunk_ / kSliceLabels, std::size_t{1}, kMostSlices));
  kept_.clear();
  scratch_.renew(chunk_ * samples);
  slice_tops_.renew(chunks() * slices_ * samples);
  slice_sums_.renew(chunks() * slices_ * samples);
  for (auto* array : {&tops_, &totals_, &factors_}) array->renew(samples);
  for (auto* array : {&host_tops_, &host_totals_}) array->renew(samples);
  kept_.resize(session_.footprint.kept_chunks(samples));
  for (auto& array : kept_) array.renew(chunk_ * samples);
}

void OutputLayer::begin() {
  target_logits_.grow(session_.image().targets);
  host_target_logits_.grow(session_.image().targets);
}

OutputLayer::Part OutputLayer::part(std::size_t index) const {
  const BatchImage& image = session_.image();
  const std::size_t first = index * chunk_;
  const std::size_t labels = std::min<std::size_t>(chunk_, session_.network.labels - first);
  const bool kept = index < kept_.size();
  const Segment& bias = session_.layout.layers.back().bias;
  return {.chunk = {.logits = kept ? kept_[index].data() : scratch_.data(),
                    .stride = chunk_,
                    .bias = session_.parameters() + bias.offset + first,
                    .first = word(first),
                    .labels = word(labels),
                    .count = image.count,
                    .slices = slices_,
                    .before = index * slices_,
                    .samples = session_.capacity},
          .targets = {.labels = session_.words(image.target_labels),
                      .samples = session_.words(image.target_samples),
                      .weights = session_.floats(image.target_weights),
                      .begin = image.target_at(word(first)),
                      .end = image.target_at(word(first + labels))},
          .kept = kept};
}

void OutputLayer::logits(const Part& part, const Activity& input) {
  dense_.forward(session_.layout.layers.back(), part.chunk.first, part.chunk.labels, input,
                 part.chunk.logits, part.chunk.stride);
}

// Over all chunks: softmax's normaliser, the others' losses.
void OutputLayer::normalise() {
  const BatchImage& image = session_.image();
  const std::size_t slices = chunks() * slices_;
  if (!softmax_) {
    sum_slices(session_.stream, slice_sums_.data(), slices, session_.capacity, image.count,
               totals_.data());
    return;
  }
  const Normaliser normaliser{slice_tops_.data(),
                              slice_sums_.data(),
                              slices,
                              session_.capacity,
                              session_.floats(image.shares),
                              tops_.data(),
                              totals_.data(),
                              factors_.data()};
  cuda::normalise(session_.stream, normaliser, image.count);
}

// The loss's gradient at a chunk's logits, in their place.
void OutputLayer::gradient(const Part& part, const Activity& input) {
  const Stream& stream = session_.stream;
  if (softmax_ && part.kept) {
    rescale(stream, part.chunk, slice_tops_.data());
  } else {
    logits(part, input);
    if (softmax_) {
      softmax_again(stream, part.chunk, tops_.data(), factors_.data());
    } else {
      target_logits(stream, part.chunk, part.targets, target_logits_.data());
      pointwise(stream, part.chunk, session_.network.loss, session_.floats(session_.image().shares),
                slice_sums_.data());
    }
  }
  subtract_targets(stream, part.chunk, part.targets);
}

void OutputLayer::train(const Activity& input, const UpdateRule& rule, bool wants_error) {
  const LayerSegments& layer = session_.layout.layers.back();
  for (std::size_t i = 0; softmax_ && i < chunks(); ++i) {
    const Part current = part(i);
    logits(current, input);
    target_logits(session_.stream, current.chunk, current.targets, target_logits_.data());
    exponentiate(session_.stream, current.chunk, slice_tops_.data(), slice_sums_.data());
  }
  if (softmax_) normalise();
  for (std::size_t i = 0; i < chunks(); ++i) {
    const Part current = part(i);
    const Chunk& chunk = current.chunk;
    gradient(current, input);
    if (wants_error) {
      dense_.backward(layer, chunk.first, chunk.labels, chunk.logits, chunk.stride, input, i == 0);
    }
    dense_.update(layer, chunk.first, chunk.labels, chunk.logits, chunk.stride, input, rule);
  }
  if (!softmax_) normalise();
}

void OutputLayer::search(const Activity& input, std::uint32_t top) {
  const Stream& stream = session_.stream;
  places_ = session_.capacity * slices_ * top;
  for (Lists* lists : {&best_, &next_best_}) {
    lists->logits.grow(places_);
    lists->labels.grow(places_);
  }
  host_best_.grow(places_);
  host_best_labels_.grow(places_);
  // Places of samples that this batch does not have are never written, but read back.
  clear_best(stream, best_.view(), places_);
  clear_best(stream, next_best_.view(), places_);
  for (std::size_t i = 0; i < chunks(); ++i) {
    const Part current = part(i);
    logits(current, input);
    target_logits(stream, current.chunk, current.targets, target_logits_.data());
    offer(stream, current.chunk, top, best_.view(), next_best_.view());
    std::swap(best_, next_best_);
    if (softmax_) {
      exponentiate(stream, current.chunk, slice_tops_.data(), slice_sums_.data());
    } else {
      pointwise(stream, current.chunk, session_.network.loss,
                session_.floats(session_.image().shares), slice_sums_.data());
    }
  }
  normalise();
}

void OutputLayer::read_losses() {
  const BatchImage& image = session_.image();
  const Stream& stream = session_.stream;
  copy_to_host(stream, some(host_target_logits_, image.targets), target_logits_.data());
  copy_to_host(stream, some(host_tops_, image.count), tops_.data());
  copy_to_host(stream, some(host_totals_, image.count), totals_.data());
}

void OutputLayer::read_best() {
  copy_to_host(session_.stream, some(host_best_, places_), best_.logits.data());
  copy_to_host(session_.stream, some(host_best_labels_, places_), best_.labels.data());
}

LabelResults OutputLayer::results() const {
  const BatchImage& image = session_.image();
  return {.tops = some(host_tops_, image.count),
          .totals = some(host_totals_, image.count),
          .target_logits = some(host_target_logits_, image.targets),
          .best = some(host_best_, places_),
          .best_labels = some(host_best_labels_, places_),
          .lists = slices_,
          .stride = session_.capacity};
}

double OutputLayer::total_loss() const {
  const auto losses = sample_losses(session_.network.loss, session_.image(), results());
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

void OutputLayer::append(Predictions& out) const {
  append_predictions(session_.network.loss, session_.image(), results(), out);
}

}  // namespace evener::cuda
