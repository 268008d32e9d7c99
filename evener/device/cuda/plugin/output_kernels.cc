#include "evener/device/cuda/plugin/output_kernels.h"

#include <algorithm>
#include <utility>

namespace evener::cuda {

namespace {

// Labels per slice: a few for each thread of a block. Many slices help batches with few samples;
// the host merges each slice's best labels.
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

void OutputKernels::reserve(const accelerator::ChunkPlan& plan) {
  const std::size_t samples = session_.capacity;
  plan_ = plan;
  slices_ = static_cast<unsigned>(
      std::clamp<std::size_t>(plan.labels / kSliceLabels, std::size_t{1}, kMostSlices));
  kept_.clear();
  scratch_.renew(plan.labels * samples);
  slice_tops_.renew(all_slices() * samples);
  slice_sums_.renew(all_slices() * samples);
  for (auto* array : {&tops_, &totals_, &factors_}) array->renew(samples);
  for (auto* array : {&host_tops_, &host_totals_}) array->renew(samples);
  kept_.resize(plan.kept);
  for (auto& array : kept_) array.renew(plan.labels * samples);
}

void OutputKernels::begin() {
  target_logits_.grow(session_.image().targets);
  host_target_logits_.grow(session_.image().targets);
}

Chunk OutputKernels::chunk(const LabelChunk& labels) const {
  return {.logits = labels.kept ? kept_[labels.index].data() : scratch_.data(),
          .stride = plan_.labels,
          .bias = session_.parameters() + layer().bias.offset + labels.first,
          .first = word(labels.first),
          .labels = word(labels.labels),
          .count = session_.image().count,
          .slices = slices_,
          .before = labels.index * slices_,
          .samples = session_.capacity};
}

Targets OutputKernels::targets(const LabelChunk& labels) const {
  const BatchImage& image = session_.image();
  return {.labels = session_.words(image.target_labels),
          .samples = session_.words(image.target_samples),
          .weights = session_.floats(image.target_weights),
          .begin = image.target_at(word(labels.first)),
          .end = image.target_at(word(labels.first + labels.labels))};
}

void OutputKernels::logits(const LabelChunk& labels, const Activity& input) {
  dense_.forward(layer(), labels.first, labels.labels, input, chunk(labels).logits, plan_.labels);
}

void OutputKernels::target_logits(const LabelChunk& labels) {
  cuda::target_logits(session_.stream, chunk(labels), targets(labels), target_logits_.data());
}

void OutputKernels::exponentiate(const LabelChunk& labels) {
  cuda::exponentiate(session_.stream, chunk(labels), slice_tops_.data(), slice_sums_.data());
}

void OutputKernels::normalise() {
  const BatchImage& image = session_.image();
  const Normaliser normaliser{slice_tops_.data(),
                              slice_sums_.data(),
                              all_slices(),
                              session_.capacity,
                              session_.floats(image.shares),
                              tops_.data(),
                              totals_.data(),
                              factors_.data()};
  cuda::normalise(session_.stream, normaliser, image.count);
}

void OutputKernels::rescale(const LabelChunk& labels) {
  cuda::rescale(session_.stream, chunk(labels), slice_tops_.data());
}

void OutputKernels::softmax_again(const LabelChunk& labels) {
  cuda::softmax_again(session_.stream, chunk(labels), tops_.data(), factors_.data());
}

void OutputKernels::pointwise(const LabelChunk& labels) {
  cuda::pointwise(session_.stream, chunk(labels), session_.network.loss,
                  session_.floats(session_.image().shares), slice_sums_.data());
}

void OutputKernels::sum_losses() {
  sum_slices(session_.stream, slice_sums_.data(), all_slices(), session_.capacity,
             session_.image().count, totals_.data());
}

void OutputKernels::subtract_targets(const LabelChunk& labels) {
  cuda::subtract_targets(session_.stream, chunk(labels), targets(labels));
}

void OutputKernels::backward(const LabelChunk& labels, const Activity& input, bool overwrite) {
  dense_.backward(layer(), labels.first, labels.labels, chunk(labels).logits, plan_.labels, input,
                  overwrite);
}

void OutputKernels::update(const LabelChunk& labels, const Activity& input,
                           const UpdateRule& rule) {
  dense_.update(layer(), labels.first, labels.labels, chunk(labels).logits, plan_.labels, input,
                rule);
}

void OutputKernels::clear_best(std::uint32_t top) {
  list_size_ = session_.capacity * slices_ * top;
  for (Lists* lists : {&best_, &next_best_}) {
    lists->logits.grow(list_size_);
    lists->labels.grow(list_size_);
  }
  host_best_.grow(list_size_);
  host_best_labels_.grow(list_size_);
  // Entries after the last sample of this batch are never written, but copied back.
  cuda::clear_best(session_.stream, best_.view(), list_size_);
  cuda::clear_best(session_.stream, next_best_.view(), list_size_);
}

void OutputKernels::offer(const LabelChunk& labels, std::uint32_t top) {
  cuda::offer(session_.stream, chunk(labels), top, best_.view(), next_best_.view());
  std::swap(best_, next_best_);
}

void OutputKernels::read_losses() {
  const BatchImage& image = session_.image();
  const Stream& stream = session_.stream;
  copy_to_host(stream, some(host_target_logits_, image.targets), target_logits_.data());
  copy_to_host(stream, some(host_tops_, image.count), tops_.data());
  copy_to_host(stream, some(host_totals_, image.count), totals_.data());
}

void OutputKernels::read_best() {
  copy_to_host(session_.stream, some(host_best_, list_size_), best_.logits.data());
  copy_to_host(session_.stream, some(host_best_labels_, list_size_), best_.labels.data());
}

LabelResults OutputKernels::results() const {
  const BatchImage& image = session_.image();
  return {.tops = some(host_tops_, image.count),
          .totals = some(host_totals_, image.count),
          .target_logits = some(host_target_logits_, image.targets),
          .best = some(host_best_, list_size_),
          .best_labels = some(host_best_labels_, list_size_),
          .lists = slices_,
          .stride = session_.capacity};
}

}  // namespace evener::cuda
