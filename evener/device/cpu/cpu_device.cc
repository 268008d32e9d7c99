#include "evener/device/cpu/cpu_device.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "evener/core/buffer.h"
#include "evener/core/cores.h"
#include "evener/core/team.h"
#include "evener/device/cpu/batch_state.h"
#include "evener/device/cpu/flush_denormals.h"
#include "evener/device/cpu/input_layer.h"
#include "evener/device/cpu/layer_update.h"
#include "evener/device/cpu/listed_replica.h"
#include "evener/device/cpu/output_layer.h"

namespace evener::cpu {

namespace {

class CpuReplica final : public Replica {
 public:
  CpuReplica(const Network& network, const Training& training, const CpuOptions& options);

  using Replica::step;
  double step(const Batch& batch, const Step& step, const NextStep* next) override;
  void predict(const Batch& batch, Predictions& out) override;
  int vectors() const override { return static_cast<int>(buffers_.size()); }
  FloatBuffer take(int vector) override;
  void give(int vector, FloatBuffer values) override;

 private:
  void begin(const Batch& batch);
  DropoutMask mask(std::size_t layer, const Step& step) const;
  void forward(const Batch& batch, const Step& step, int member);
  void first_layer(const Batch& batch, const Step& step, int member);
  void dense_forward(std::size_t layer, const Step& step, int member);
  void dense_backward(std::size_t layer, const UpdateRule& rule, int member);
  Range panel_share(int member) const { return share_of(samples_.panels, team_.size(), member); }

  Network network_;
  Training training_;
  Layout layout_;
  Team team_;
  std::vector<FloatBuffer> buffers_;
  ModelVectors vectors_;
  Samples samples_;
  SparseBatch sparse_;
  // Activity i is the input of dense layer i: with sparse input, activity 0 is the first hidden
  // layer's; with dense input it is the features themselves.
  std::vector<Activity> activities_;
  std::size_t dense_layers_before_output_;
  std::unique_ptr<InputLayer> input_;  // null with dense input
  OutputLayer output_;
  std::vector<TileUpdate> updates_;  // one per member, for the hidden layers
};

// Kept tiles of the output layer may take this share of the model with its optimizer state, or this
// much for a small model.
constexpr double kKeepShare = 0.08;
constexpr std::size_t kKeepBytes = std::size_t{64} << 20;

std::size_t keep_bytes(const Layout& layout, const Training& training) {
  const double vectors = 1.0 + state_vectors(training.optimizer);
  const double bytes = kKeepShare * vectors * sizeof(float) * static_cast<double>(layout.size);
  return std::max(kKeepBytes, static_cast<std::size_t>(bytes));
}

CpuReplica::CpuReplica(const Network& network, const Training& training, const CpuOptions& options)
    : network_(network),
      training_(training),
      layout_(layout_of(network)),
      team_(options.threads),
      dense_layers_before_output_(network.hidden.size() - (network.sparse_input() ? 1 : 0)),
      output_(network, layout_.layers.back(),
              options.keep_bytes > 0 ? options.keep_bytes : keep_bytes(layout_, training),
              options.threads) {
  const int threads = options.threads;
  buffers_.resize(1 + static_cast<std::size_t>(state_vectors(training.optimizer)));
  for (int v = 0; v < vectors(); ++v) give(v, FloatBuffer(layout_.size));
  std::size_t widest = 0;
  if (network.sparse_input()) {
    input_ = std::make_unique<InputLayer>(network, layout_.layers.front(), threads);
  } else {
    activities_.emplace_back(network.features, threads);
    widest = activities_.back().width();
  }
  for (const std::uint32_t units : network.hidden) {
    activities_.emplace_back(units, threads);
    widest = std::max(widest, activities_.back().width());
  }
  for (int member = 0; member < threads; ++member) updates_.emplace_back(widest);
}

FloatBuffer CpuReplica::take(int vector) {
  return std::move(buffers_.at(static_cast<std::size_t>(vector)));
}

void CpuReplica::give(int vector, FloatBuffer values) {
  assert(values.size() == layout_.size);
  FloatBuffer& buffer = buffers_.at(static_cast<std::size_t>(vector));
  buffer = std::move(values);
  float** const places[] = {&vectors_.weight, &vectors_.first, &vectors_.second};
  *places[vector] = buffer.data();
}

void CpuReplica::begin(const Batch& batch) {
  samples_ = Samples::of(batch.rows.size());
  sparse_.plan(batch);
  for (auto& activity : activities_) activity.resize(samples_);
  if (input_) input_->resize(samples_);
}

// Layer 0 is the input; step number 0 means prediction, which drops nothing.
DropoutMask CpuReplica::mask(std::size_t layer, const Step& step) const {
  const float rate = layer == 0 ? training_.input_dropout : training_.dropout;
  return {step.number == 0 ? 0.0F : rate, training_.seed, step.number,
          static_cast<std::uint32_t>(layer)};
}

void CpuReplica::first_layer(const Batch& batch, const Step& step, int member) {
  const auto [begin, end] = panel_share(member);
  const std::size_t panel = kernels().panel;
  Activity& out = activities_.front();
  sparse_.fill(batch, mask(0, step), begin * panel, end * panel);
  if (input_) {
    input_->forward(sparse_, vectors_, out, member, begin, end);
    out.activate(network_.activation, mask(1, step), begin, end);
    return;
  }
  const Columns columns = out.columns();
  for (std::size_t p = begin; p < end; ++p) {
    float* at = columns.data + p * columns.stride;
    std::fill_n(at, out.width() * panel, 0.0F);
    for (std::size_t i = 0; i < panel && p * panel + i < sparse_.rows(); ++i) {
      const RowView row = sparse_.row(p * panel + i);
      for (std::size_t j = 0; j < row.indices.size(); ++j) {
        at[row.indices[j] * panel + i] = row.values[j];
      }
    }
  }
  out.fill_rows(begin, end);
}

// From activity `layer` to the next.
void CpuReplica::dense_forward(std::size_t layer, const Step& step, int member) {
  Activity& in = activities_[layer];
  Activity& out = activities_[layer + 1];
  const std::size_t number = layer + (input_ ? 1 : 0);  // among all layers of the network
  const Segment& weight = layout_.layers[number].weight;
  const Range units = share_of(weight.rows, team_.size(), member, kernels().tile);
  const Columns columns = out.columns();
  kernels().forward({vectors_.weight + weight.offset + units.begin * weight.stride, weight.stride,
                     units.end - units.begin, weight.stride},
                    vectors_.weight + layout_.layers[number].bias.offset + units.begin,
                    in.columns(), samples_.panels,
                    {columns.data + units.begin * kernels().panel, columns.stride}, {});
  team_.barrier();
  const auto [begin, end] = panel_share(member);
  out.activate(network_.activation, mask(number + 1, step), begin, end);
}

void CpuReplica::dense_backward(std::size_t layer, const UpdateRule& rule, int member) {
  Activity& in = activities_[layer];
  const std::size_t number = layer + (input_ ? 1 : 0);
  const LayerSegments& segments = layout_.layers[number];
  const Segment& weight = segments.weight;
  const bool want_error = layer > 0 || input_;
  const Columns gradient = activities_[layer + 1].error(0);
  const Columns error = in.error(member);
  if (want_error) std::fill_n(error.data, samples_.padded * in.width(), 0.0F);
  const auto [begin, end] = share_of(weight.rows, team_.size(), member, kernels().tile);
  for (std::size_t first = begin; first < end; first += kernels().tile) {
    const std::size_t units = std::min(kernels().tile, end - first);
    const Columns part{gradient.data + first * kernels().panel, gradient.stride};
    if (want_error) {
      kernels().backward({vectors_.weight + weight.offset + first * weight.stride, weight.stride,
                          units, weight.stride},
                         part, samples_.panels, error, {});
    }
    updates_[static_cast<std::size_t>(member)].apply(segments, vectors_, rule, first, units, part,
                                                     samples_, in.rows());
  }
}

void CpuReplica::forward(const Batch& batch, const Step& step, int member) {
  first_layer(batch, step, member);
  output_.begin(batch, samples_, member);
  team_.barrier();
  for (std::size_t layer = 0; layer < dense_layers_before_output_; ++layer) {
    dense_forward(layer, step, member);
    team_.barrier();
  }
}

double CpuReplica::step(const Batch& batch, const Step& step, const NextStep* /*next*/) {
  begin(batch);
  const UpdateRule rule = update_rule(training_, step);
  team_.run([&](int member) {
    const FlushDenormals flush;
    forward(batch, step, member);
    output_.walk_forward(vectors_, activities_.back(), member, 0);
    team_.barrier();
    output_.walk_backward(vectors_, rule, activities_.back(), member,
                          input_ || dense_layers_before_output_ > 0);
    team_.barrier();
    for (std::size_t layer = activities_.size(); layer-- > 0;) {
      if (layer == 0 && !input_) break;  // the features themselves: nothing to train before them
      const auto [begin, end] = panel_share(member);
      activities_[layer].derive(network_.activation, mask(layer + (input_ ? 1 : 0), step), begin,
                                end);
      if (layer == 0) input_->take_error(activities_[0], begin, end);
      team_.barrier();
      if (layer > 0) {
        dense_backward(layer - 1, rule, member);
        team_.barrier();
      }
    }
    if (input_) input_->update(sparse_, vectors_, rule, member);
  });
  return output_.total_loss() / static_cast<double>(samples_.count);
}

void CpuReplica::predict(const Batch& batch, Predictions& out) {
  begin(batch);
  team_.run([&](int member) {
    const FlushDenormals flush;
    forward(batch, {0, 0}, member);
    output_.walk_forward(vectors_, activities_.back(), member, out.k);
  });
  output_.append_predictions(out);
}

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const CpuOptions& options) : options_(options) {}
  std::string name() const override { return "cpu:" + std::to_string(options_.threads); }
  std::unique_ptr<Replica> make_replica(const Network& network, const Training& training) override {
    return make(network, training, options_);
  }
  std::vector<std::unique_ptr<Replica>> make_in_place(const Network& network,
                                                      const Training& training,
                                                      std::span<FloatBuffer> shared) override {
    std::vector<std::unique_ptr<Replica>> replicas;
    CpuOptions single = options_;
    single.threads = 1;
    for (int thread = 0; thread < options_.threads; ++thread) {
      auto replica = make(network, training, single);
      for (std::size_t v = 0; v < shared.size(); ++v) {
        replica->give(static_cast<int>(v), FloatBuffer::view(shared[v]));
      }
      replicas.push_back(std::move(replica));
    }
    return replicas;
  }
  int in_place_threads() const override { return options_.threads; }

 private:
  static std::unique_ptr<Replica> make(const Network& network, const Training& training,
                                       const CpuOptions& options) {
    if (network.listed_output()) return make_listed_replica(network, training, options.threads);
    return std::make_unique<CpuReplica>(network, training, options);
  }

  CpuOptions options_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(const CpuOptions& options) {
  CpuOptions resolved = options;
  if (resolved.threads <= 0) resolved.threads = available_cores();
  return std::make_unique<CpuDevice>(resolved);
}

}  // namespace evener::cpu
