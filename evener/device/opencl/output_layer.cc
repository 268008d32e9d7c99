#include "evener/device/opencl/output_layer.h"

#include <algorithm>
#include <numeric>

namespace evener::opencl {

namespace {

constexpr float kLowest = -1e30F;
// Over how many items a chunk's labels are dealt where one item a sample would leave a card idle.
constexpr unsigned kAcceleratorSlices = 16;

}  // namespace

OutputLayer::OutputLayer(Session& session, DenseLayers& dense)
    : session_(session),
      dense_(dense),
      softmax_(session.network.loss == Loss::softmax),
      slices_(session.context->kind == Kind::processor ? session.context->compute_units
                                                       : kAcceleratorSlices) {}

void OutputLayer::reserve() {
  const Context& context = *session_.context;
  const std::size_t samples = session_.capacity;
  chunk_ = session_.footprint.chunk_labels(samples);
  kept_.clear();
  for (std::size_t i = session_.footprint.kept_chunks(samples); i > 0; --i) {
    kept_.push_back(make_buffer(context, chunk_ * samples));
  }
  scratch_ = make_buffer(context, chunk_ * samples);
  maxima_ = make_buffer(context, chunks() * slices_ * samples);
  sums_ = make_buffer(context, chunks() * slices_ * samples);
  for (auto* buffer : {&tops_, &totals_, &factors_}) *buffer = make_buffer(context, samples);
  best_kept_ = 0;
}

OutputLayer::Chunk OutputLayer::chunk(std::size_t index) const {
  const std::size_t first = index * chunk_;
  const bool kept = index < kept_.size();
  return {first, std::min<std::size_t>(chunk_, session_.network.labels - first),
          word(index * slices_), kept ? kept_[index] : scratch_, kept};
}

void OutputLayer::logits(const Chunk& chunk, const Activity& input) {
  dense_.forward(session_.layout.layers.back(), chunk.first, chunk.labels, input, chunk.logits,
                 session_.columns_of(chunk_));
}

void OutputLayer::target_logits(const Chunk& chunk) {
  const BatchImage& image = session_.image();
  if (image.targets > targets_) {
    targets_ = image.targets * 5 / 4;
    target_logits_ = make_buffer(*session_.context, targets_);
  }
  const std::uint32_t begin = image.target_at(word(chunk.first));
  const std::uint32_t end = image.target_at(word(chunk.first + chunk.labels));
  session_.program.run("target_logits", end - begin, 1, chunk.logits, session_.columns_of(chunk_),
                       word(chunk.first), session_.batch(), word(image.target_labels),
                       word(image.target_samples), begin, end, target_logits_);
}

void OutputLayer::subtract_targets(const Chunk& chunk) {
  const BatchImage& image = session_.image();
  const std::uint32_t begin = image.target_at(word(chunk.first));
  const std::uint32_t end = image.target_at(word(chunk.first + chunk.labels));
  session_.program.run("subtract_targets", end - begin, 1, chunk.logits,
                       session_.columns_of(chunk_), word(chunk.first), session_.batch(),
                       word(image.target_labels), word(image.target_samples),
                       word(image.target_weights), begin, end);
}

void OutputLayer::exponentiate(const Chunk& chunk) {
  session_.program.run("exponentiate", session_.groups(), slices_, chunk.logits,
                       session_.columns_of(chunk_), word(chunk.labels), word(slices_), chunk.before,
                       word(session_.groups()), word(session_.capacity), maxima_, sums_);
}

void OutputLayer::pointwise(const Chunk& chunk) {
  session_.program.run("pointwise", session_.groups(), slices_, chunk.logits,
                       session_.columns_of(chunk_), word(chunk.labels), word(slices_), chunk.before,
                       word(session_.groups()), word(session_.capacity),
                       static_cast<cl_uint>(session_.network.loss), session_.batch(),
                       word(session_.image().shares), sums_);
}

// Over all chunks: softmax's normaliser, the others' losses.
void OutputLayer::normalise() {
  const BatchImage& image = session_.image();
  const cl_uint slices = word(chunks() * slices_);
  const std::size_t vectors = image.samples / session_.program.tiling().vec;
  if (softmax_) {
    session_.program.run("normalise", vectors, 1, maxima_, sums_, slices, image.samples,
                         word(session_.capacity), session_.batch(), image.shares, tops_, totals_,
                         factors_);
  } else {
    session_.program.run("sum_slices", vectors, 1, sums_, slices, image.samples,
                         word(session_.capacity), totals_);
  }
}

// The loss's gradient at a chunk's logits, in their place.
void OutputLayer::gradient(const Chunk& chunk, const Activity& input) {
  const cl_uint2 columns = session_.columns_of(chunk_);
  const cl_uint groups = word(session_.groups());
  if (softmax_ && chunk.kept) {
    session_.program.run("rescale", groups, slices_, chunk.logits, columns, word(chunk.labels),
                         word(slices_), chunk.before, groups, word(session_.capacity), maxima_);
  } else {
    logits(chunk, input);
    if (softmax_) {
      session_.program.run("softmax_again", groups, chunk.labels, chunk.logits, columns,
                           word(chunk.labels), groups, tops_, factors_);
    } else {
      target_logits(chunk);
      pointwise(chunk);
    }
  }
  subtract_targets(chunk);
}

void OutputLayer::train(Activity& input, const Rule& rule, bool wants_error) {
  const LayerSegments& layer = session_.layout.layers.back();
  const cl_uint2 columns = session_.columns_of(chunk_);
  for (std::size_t i = 0; softmax_ && i < chunks(); ++i) {
    const Chunk current = chunk(i);
    logits(current, input);
    target_logits(current);
    exponentiate(current);
  }
  if (softmax_) normalise();
  for (std::size_t i = 0; i < chunks(); ++i) {
    const Chunk current = chunk(i);
    gradient(current, input);
    if (wants_error) {
      dense_.backward(layer, current.first, current.labels, current.logits, columns, input, i == 0);
    }
    dense_.update(layer, current.first, current.labels, current.logits, columns, input, rule);
  }
  if (!softmax_) normalise();
}

void OutputLayer::search(Activity& input, std::uint32_t top) {
  const Context& context = *session_.context;
  const std::size_t places = session_.capacity * slices_ * top;
  if (top > best_kept_) {
    best_kept_ = top;
    best_ = make_buffer(context, places);
    best_labels_ = make_buffer(context, places);
  }
  context.queue.enqueueFillBuffer(best_, kLowest, 0, places * sizeof(float));
  context.queue.enqueueFillBuffer(best_labels_, cl_uint{0}, 0, places * sizeof(float));
  for (std::size_t i = 0; i < chunks(); ++i) {
    const Chunk current = chunk(i);
    logits(current, input);
    target_logits(current);
    session_.program.run("offer", session_.groups(), slices_, current.logits,
                         session_.columns_of(chunk_), word(current.first), word(current.labels),
                         word(slices_), word(session_.groups()), word(session_.capacity), top,
                         best_, best_labels_);
    softmax_ ? exponentiate(current) : pointwise(current);
  }
  normalise();
  host_best_.resize(places);
  host_best_labels_.resize(places);
}

void OutputLayer::read_losses() {
  const BatchImage& image = session_.image();
  host_target_logits_.resize(image.targets);
  host_tops_.resize(image.samples);
  host_totals_.resize(image.samples);
  read(*session_.context, target_logits_, std::span(host_target_logits_));
  read(*session_.context, tops_, std::span(host_tops_));
  read(*session_.context, totals_, std::span(host_totals_));
}

void OutputLayer::read_best() {
  read(*session_.context, best_, std::span(host_best_));
  read(*session_.context, best_labels_, std::span(host_best_labels_));
}

LabelResults OutputLayer::results() const {
  return {host_tops_,        host_totals_, host_target_logits_, host_best_,
          host_best_labels_, slices_,      session_.capacity};
}

double OutputLayer::total_loss() const {
  const auto losses = sample_losses(session_.network.loss, session_.image(), results());
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

void OutputLayer::append(Predictions& out) const {
  append_predictions(session_.network.loss, session_.image(), results(), out);
}

}  // namespace evener::opencl
