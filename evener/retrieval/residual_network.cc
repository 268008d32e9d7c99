#include "evener/retrieval/residual_network.h"

#include <algorithm>
#include <cmath>

#include "evener/core/random.h"
#include "evener/data/batches.h"
#include "evener/device/cpu/kernels.h"
#include "evener/device/cpu/shortlist_kernels.h"
#include "evener/nn/training.h"
#include "evener/retrieval/logistic.h"

namespace evener {

namespace {

void hidden_layer(const float* weights, const float* bias, std::size_t width,
                  std::span<const std::uint32_t> features, std::span<const float> values,
                  float* out) {
  cpu::kernels().gather(weights, width, width, bias, features.data(), values.data(),
                        features.size(), out);
  for (std::size_t u = 0; u < width; ++u) out[u] = std::max(0.0F, out[u]);
}

}  // namespace

void initialise_residual(const Network& network, std::uint64_t seed, std::span<float> parameters) {
  const Segment input = layout_of(network).layers.front().weight;
  std::fill(parameters.begin(), parameters.end(), 0.0F);
  Random random(seed, 0x72657369);
  for (std::size_t row = 0; row < input.rows; ++row) {
    float* weights = parameters.data() + input.offset + row * input.stride;
    for (std::size_t u = 0; u < input.cols; ++u) {
      weights[u] = static_cast<float>(2 * random.uniform() - 1);
    }
  }
}

ResidualTrainer::ResidualTrainer(const Network& network, const Dataset& data,
                                 const Shortlist& shortlist, const ResidualOptions& options)
    : data_(data), shortlist_(shortlist), options_(options), slots_(options.batch) {
  const Layout layout = layout_of(network);
  input_ = layout.layers.at(0).weight;
  bias_ = layout.layers.at(0).bias;
  output_ = layout.layers.at(1).weight;
  width_ = input_.stride;
  input_squares_.assign(input_.rows, options.first_square);
  output_squares_.assign(output_.rows, options.first_square);
  bias_square_ = options.first_square;
  for (Slot& slot : slots_) {
    slot.hidden = FloatBuffer(width_);
    slot.error = FloatBuffer(width_);
  }
}

void ResidualTrainer::compute(std::uint32_t row, std::uint64_t number,
                              std::span<const float> parameters, Slot& slot) const {
  const cpu::ShortlistKernels& kernels = cpu::shortlist_kernels();
  const RowView view = data_.features.row(row);
  const DropoutMask mask(options_.input_dropout, options_.seed, number, 0);
  slot.features.clear();
  slot.values.clear();
  for (std::size_t i = 0; i < view.indices.size(); ++i) {
    const float factor = mask.active() ? mask.factor(0, view.indices[i]) : 1.0F;
    if (factor == 0) continue;
    slot.features.push_back(view.indices[i]);
    slot.values.push_back(view.values[i] * factor);
  }
  float* hidden = slot.hidden.data();
  float* error = slot.error.data();
  hidden_layer(parameters.data() + input_.offset, parameters.data() + bias_.offset, width_,
               slot.features, slot.values, hidden);
  std::fill_n(error, width_, 0.0F);
  slot.gradients.clear();
  slot.loss = 0;
  for (auto p = shortlist_.offsets[row]; p < shortlist_.offsets[row + 1]; ++p) {
    const float* weights =
        parameters.data() + output_.offset + shortlist_.labels[p] * output_.stride;
    const float score = shortlist_.margins[p] + kernels.dot(weights, hidden, width_);
    const bool positive = shortlist_.positive[p] != 0;
    const float gradient = sigmoid(score) - (positive ? 1.0F : 0.0F);
    slot.loss += static_cast<double>(log_loss(score, positive));
    kernels.add(weights, gradient, error, width_);
    slot.gradients.push_back(gradient);
  }
  for (std::size_t u = 0; u < width_; ++u) {
    if (hidden[u] <= 0) error[u] = 0;
  }
}

void ResidualTrainer::update_output(std::span<const std::uint32_t> batch, int members, int member,
                                    float rate, std::span<float> parameters) {
  const cpu::ShortlistKernels& kernels = cpu::shortlist_kernels();
  const auto share = static_cast<std::uint32_t>(members);
  const auto own = static_cast<std::uint32_t>(member);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Slot& slot = slots_[i];
    const float* hidden = slot.hidden.data();
    const float square = kernels.dot(hidden, hidden, width_) / static_cast<float>(width_);
    const std::uint64_t begin = shortlist_.offsets[batch[i]];
    for (std::size_t c = 0; c < slot.gradients.size(); ++c) {
      const std::uint32_t label = shortlist_.labels[begin + c];
      if (label % share != own) continue;
      const float g = slot.gradients[c];
      float& sum = output_squares_[label];
      sum += g * g * square;
      kernels.add(hidden, -rate * g / std::sqrt(sum),
                  parameters.data() + output_.offset + label * output_.stride, width_);
    }
  }
}

void ResidualTrainer::update_input(std::size_t count, int members, int member, float rate,
                                   std::span<float> parameters) {
  const cpu::ShortlistKernels& kernels = cpu::shortlist_kernels();
  const auto share = static_cast<std::uint32_t>(members);
  const auto own = static_cast<std::uint32_t>(member);
  for (std::size_t i = 0; i < count; ++i) {
    const Slot& slot = slots_[i];
    const float* error = slot.error.data();
    const float square = kernels.dot(error, error, width_) / static_cast<float>(width_);
    if (square == 0) continue;
    if (member == 0) {
      bias_square_ += square;
      kernels.add(error, -rate / std::sqrt(bias_square_), parameters.data() + bias_.offset, width_);
    }
    for (std::size_t j = 0; j < slot.features.size(); ++j) {
      const std::uint32_t feature = slot.features[j];
      if (feature % share != own) continue;
      const float x = slot.values[j];
      float& sum = input_squares_[feature];
      sum += x * x * square;
      kernels.add(error, -rate * x / std::sqrt(sum),
                  parameters.data() + input_.offset + feature * input_.stride, width_);
    }
  }
}

std::vector<std::uint32_t> ResidualTrainer::order_of(std::uint64_t epoch) const {
  return shuffled_rows(shortlist_.rows(), options_.seed, epoch);
}

ResidualStep ResidualTrainer::step(const Place& place, std::span<float> parameters, Team& team) {
  ResidualStep done;
  done.rows = std::min<std::size_t>(options_.batch, place.order.size() - place.begin);
  const auto batch = place.order.subspan(place.begin, done.rows);
  const std::uint64_t before = place.epoch * place.order.size() + place.begin;
  done.learning_rate = options_.learning_rate * static_cast<float>(place.left);
  const int members = team.size();
  team.run([&](int member) {
    const Range own = share_of(done.rows, members, member);
    for (std::size_t i = own.begin; i < own.end; ++i) {
      compute(batch[i], before + i, parameters, slots_[i]);
    }
    team.barrier();
    update_output(batch, members, member, done.learning_rate, parameters);
    update_input(done.rows, members, member, done.learning_rate, parameters);
  });
  for (std::size_t i = 0; i < done.rows; ++i) done.loss += slots_[i].loss;
  return done;
}

void ResidualTrainer::store_squares(std::span<float> state) const {
  std::fill(state.begin(), state.end(), 0.0F);
  for (std::size_t row = 0; row < input_.rows; ++row) {
    state[input_.offset + row * input_.stride] = input_squares_[row];
  }
  for (std::size_t row = 0; row < output_.rows; ++row) {
    state[output_.offset + row * output_.stride] = output_squares_[row];
  }
  state[bias_.offset] = bias_square_;
}

void ResidualTrainer::load_squares(std::span<const float> state) {
  for (std::size_t row = 0; row < input_.rows; ++row) {
    input_squares_[row] = state[input_.offset + row * input_.stride];
  }
  for (std::size_t row = 0; row < output_.rows; ++row) {
    output_squares_[row] = state[output_.offset + row * output_.stride];
  }
  bias_square_ = state[bias_.offset];
}

void residual_scores(const Network& network, std::span<const float> parameters, const RowView& row,
                     std::span<const std::uint32_t> labels, FloatBuffer& hidden, float* out) {
  const cpu::ShortlistKernels& kernels = cpu::shortlist_kernels();
  const Layout layout = layout_of(network);
  const Segment& input = layout.layers.at(0).weight;
  const Segment& output = layout.layers.at(1).weight;
  if (hidden.size() < input.stride) hidden = FloatBuffer(input.stride);
  hidden_layer(parameters.data() + input.offset,
               parameters.data() + layout.layers.at(0).bias.offset, input.stride, row.indices,
               row.values, hidden.data());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    out[i] = kernels.dot(parameters.data() + output.offset + labels[i] * output.stride,
                         hidden.data(), input.stride);
  }
}

}  // namespace evener
