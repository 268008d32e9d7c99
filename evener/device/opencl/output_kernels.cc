#include "evener/device/opencl/output_kernels.h"

namespace evener::opencl {

namespace {

constexpr float kLowest = -1e30F;
// Slices of a chunk's labels on a card: one item per sample would leave the card idle.
constexpr unsigned kAcceleratorSlices = 16;

}  // namespace

OutputKernels::OutputKernels(Session& session, DenseLayers& dense)
    : session_(session),
      dense_(dense),
      slices_(session.context->kind == Kind::processor ? session.context->compute_units
                                                       : kAcceleratorSlices) {}

void OutputKernels::reserve(const accelerator::ChunkPlan& plan) {
  const Context& context = *session_.context;
  const std::size_t samples = session_.capacity;
  plan_ = plan;
  kept_.clear();
  for (std::size_t i = 0; i < plan.kept; ++i) {
    kept_.push_back(make_buffer(context, plan.labels * samples));
  }
  scratch_ = make_buffer(context, plan.labels * samples);
  maxima_ = make_buffer(context, plan.count * slices_ * samples);
  sums_ = make_buffer(context, plan.count * slices_ * samples);
  for (auto* buffer : {&tops_, &totals_, &factors_}) *buffer = make_buffer(context, samples);
  best_kept_ = 0;
}

void OutputKernels::begin() {
  const std::size_t targets = session_.image().targets;
  if (targets <= targets_) return;
  targets_ = targets * 5 / 4;
  target_logits_ = make_buffer(*session_.context, targets_);
}

void OutputKernels::logits(const LabelChunk& chunk, const Activity& input) {
  dense_.forward(layer(), chunk.first, chunk.labels, input, logits_of(chunk), columns());
}

void OutputKernels::target_logits(const LabelChunk& chunk) {
  const BatchImage& image = session_.image();
  const std::uint32_t begin = image.target_at(word(chunk.first));
  const std::uint32_t end = image.target_at(word(chunk.first + chunk.labels));
  session_.program.run("target_logits", end - begin, 1, logits_of(chunk), columns(),
                       word(chunk.first), session_.batch(), word(image.target_labels),
                       word(image.target_samples), begin, end, target_logits_);
}

void OutputKernels::subtract_targets(const LabelChunk& chunk) {
  const BatchImage& image = session_.image();
  const std::uint32_t begin = image.target_at(word(chunk.first));
  const std::uint32_t end = image.target_at(word(chunk.first + chunk.labels));
  session_.program.run("subtract_targets", end - begin, 1, logits_of(chunk), columns(),
                       word(chunk.first), session_.batch(), word(image.target_labels),
                       word(image.target_samples), word(image.target_weights), begin, end);
}

void OutputKernels::exponentiate(const LabelChunk& chunk) {
  session_.program.run("exponentiate", session_.groups(), slices_, logits_of(chunk), columns(),
                       word(chunk.labels), word(slices_), before(chunk), word(session_.groups()),
                       word(session_.capacity), maxima_, sums_);
}

void OutputKernels::pointwise(const LabelChunk& chunk) {
  session_.program.run("pointwise", session_.groups(), slices_, logits_of(chunk), columns(),
                       word(chunk.labels), word(slices_), before(chunk), word(session_.groups()),
                       word(session_.capacity), static_cast<cl_uint>(session_.network.loss),
                       session_.batch(), word(session_.image().shares), sums_);
}

void OutputKernels::normalise() {
  const BatchImage& image = session_.image();
  session_.program.run("normalise", image.samples / session_.program.tiling().vec, 1, maxima_,
                       sums_, all_slices(), image.samples, word(session_.capacity),
                       session_.batch(), image.shares, tops_, totals_, factors_);
}

void OutputKernels::sum_losses() {
  const BatchImage& image = session_.image();
  session_.program.run("sum_slices", image.samples / session_.program.tiling().vec, 1, sums_,
                       all_slices(), image.samples, word(session_.capacity), totals_);
}

void OutputKernels::rescale(const LabelChunk& chunk) {
  const cl_uint groups = word(session_.groups());
  session_.program.run("rescale", groups, slices_, logits_of(chunk), columns(), word(chunk.labels),
                       word(slices_), before(chunk), groups, word(session_.capacity), maxima_);
}

void OutputKernels::softmax_again(const LabelChunk& chunk) {
  const cl_uint groups = word(session_.groups());
  session_.program.run("softmax_again", groups, chunk.labels, logits_of(chunk), columns(),
                       word(chunk.labels), groups, tops_, factors_);
}

void OutputKernels::backward(const LabelChunk& chunk, Activity& input, bool overwrite) {
  dense_.backward(layer(), chunk.first, chunk.labels, logits_of(chunk), columns(), input,
                  overwrite);
}

void OutputKernels::update(const LabelChunk& chunk, const Activity& input, const Rule& rule) {
  dense_.update(layer(), chunk.first, chunk.labels, logits_of(chunk), columns(), input, rule);
}

void OutputKernels::clear_best(std::uint32_t top) {
  const Context& context = *session_.context;
  const std::size_t places = session_.capacity * slices_ * top;
  if (top > best_kept_) {
    best_kept_ = top;
    best_ = make_buffer(context, places);
    best_labels_ = make_buffer(context, places);
  }
  context.queue.enqueueFillBuffer(best_, kLowest, 0, places * sizeof(float));
  context.queue.enqueueFillBuffer(best_labels_, cl_uint{0}, 0, places * sizeof(float));
  host_best_.resize(places);
  host_best_labels_.resize(places);
}

void OutputKernels::offer(const LabelChunk& chunk, std::uint32_t top) {
  session_.program.run("offer", session_.groups(), slices_, logits_of(chunk), columns(),
                       word(chunk.first), word(chunk.labels), word(slices_),
                       word(session_.groups()), word(session_.capacity), top, best_, best_labels_);
}

void OutputKernels::read_losses() {
  const BatchImage& image = session_.image();
  host_target_logits_.resize(image.targets);
  host_tops_.resize(image.samples);
  host_totals_.resize(image.samples);
  read(*session_.context, target_logits_, std::span(host_target_logits_));
  read(*session_.context, tops_, std::span(host_tops_));
  read(*session_.context, totals_, std::span(host_totals_));
}

void OutputKernels::read_best() {
  read(*session_.context, best_, std::span(host_best_));
  read(*session_.context, best_labels_, std::span(host_best_labels_));
}

LabelResults OutputKernels::results() const {
  return {host_tops_,        host_totals_, host_target_logits_, host_best_,
          host_best_labels_, slices_,      session_.capacity};
}

}  // namespace evener::opencl
