#include "evener/device/cpu/output_layer.h"

#include <algorithm>
#include <cmath>

namespace evener::cpu {

namespace {

// Below every logit, and finite: the difference of two of them must not be NaN.
constexpr float kLowest = -1e30F;

void grow(FloatBuffer& buffer, std::size_t size) {
  if (buffer.size() < size) buffer = FloatBuffer(size);
}

}  // namespace

OutputLayer::OutputLayer(const Network& network, const LayerSegments& segments,
                         std::size_t keep_bytes, int members)
    : network_(network), segments_(segments), keep_bytes_(keep_bytes) {
  for (int member = 0; member < members; ++member) {
    const Range range = share_of(network.labels, members, member, kernels().tile);
    Part part{.targets = {},
              .kept = {},
              .references = {},
              .tile = {},
              .maximum = {},
              .sum = {},
              .factor = {},
              .shift = {},
              .loss = {},
              .top = {},
              .update = TileUpdate(segments.weight.stride)};
    part.begin = range.begin;
    part.end = range.end;
    parts_.push_back(std::move(part));
  }
}

std::size_t OutputLayer::tiles(const Part& part) const {
  return (part.end - part.begin + kernels().tile - 1) / kernels().tile;
}

OutputLayer::Tile OutputLayer::tile(Part& part, std::size_t index) {
  const std::size_t first = part.begin + index * kernels().tile;
  const std::size_t units = std::min(kernels().tile, part.end - first);
  const std::size_t forgotten = tiles(part) - part.kept_tiles;
  const bool kept = index >= forgotten;
  float* data = kept ? part.kept.data() + (index - forgotten) * kernels().tile * samples_.padded
                     : part.tile.data();
  return {first, units, index, {data, kernels().tile * kernels().panel}, kept};
}

float* OutputLayer::references(Part& part, const Tile& tile) const {
  const std::size_t forgotten = tiles(part) - part.kept_tiles;
  const std::size_t place = tile.kept ? tile.index - forgotten : part.kept_tiles;
  return part.references.data() + place * kernels().blocks * samples_.padded;
}

Weights OutputLayer::weights(const ModelVectors& vectors, const Tile& tile) const {
  const std::size_t width = segments_.weight.stride;
  return {vectors.weight + segments_.weight.offset + tile.first * width, width, tile.units, width};
}

void OutputLayer::begin(const Batch& batch, const Samples& samples, int member) {
  if (member == 0) {
    samples_ = samples;
    labelled_.assign(samples.count, false);
    for (std::size_t s = 0; s < samples.count; ++s) {
      labelled_[s] = !batch.data->labels.row(batch.rows[s]).indices.empty();
    }
  }
  Part& mine = part(member);
  mine.targets.clear();
  for (std::size_t s = 0; s < samples.count; ++s) {
    const auto labels = batch.data->labels.row(batch.rows[s]).indices;
    const float weight =
        network_.loss == Loss::softmax ? 1.0F / static_cast<float>(labels.size()) : 1.0F;
    auto label = std::lower_bound(labels.begin(), labels.end(), mine.begin);
    for (; label != labels.end() && *label < mine.end; ++label) {
      const std::uint32_t target = *label;
      if (target < mine.begin) continue;  // not sorted: zeros of a file that was truncated
      mine.targets.push_back({target, static_cast<std::uint32_t>(s), weight});
    }
  }
  std::sort(mine.targets.begin(), mine.targets.end(), [](const Target& a, const Target& b) {
    return a.label != b.label ? a.label < b.label : a.sample < b.sample;
  });

  const std::size_t tile_floats = kernels().tile * samples.padded;
  if (network_.loss == Loss::softmax) {
    const std::size_t budget = keep_bytes_ / parts_.size() / (tile_floats * sizeof(float));
    mine.kept_tiles = std::min(tiles(mine), budget);
    grow(mine.kept, mine.kept_tiles * tile_floats);
    // One more for the tiles that are not kept, whose references nobody needs.
    grow(mine.references, (mine.kept_tiles + 1) * kernels().blocks * samples.padded);
  }
  grow(mine.tile, tile_floats);
  for (auto* buffer : {&mine.maximum, &mine.sum, &mine.factor, &mine.shift}) {
    grow(*buffer, samples.padded);
  }
  std::fill_n(mine.maximum.data(), samples.padded, kLowest);
  std::fill_n(mine.sum.data(), samples.padded, 0.0F);
  mine.loss.assign(samples.padded, 0.0);
}

Upcoming::Part OutputLayer::weights_part(const ModelVectors& vectors, const Tile& tile) const {
  const Weights matrix = weights(vectors, tile);
  return {matrix.data, matrix.units * matrix.stride};
}

void OutputLayer::logits(const ModelVectors& vectors, Activity& input, const Tile& tile,
                         const Upcoming& next) {
  kernels().forward(weights(vectors, tile), vectors.weight + segments_.bias.offset + tile.first,
                    input.columns(), samples_.panels, tile.columns, next);
}

template <class F>
void OutputLayer::for_targets(const Part& mine, const Tile& tile, F f) {
  const std::size_t panel = kernels().panel;
  auto target =
      std::lower_bound(mine.targets.begin(), mine.targets.end(), tile.first,
                       [](const Target& t, std::size_t label) { return t.label < label; });
  for (; target != mine.targets.end() && target->label < tile.first + tile.units; ++target) {
    const std::size_t s = target->sample;
    f(*target, tile.columns.data[s / panel * tile.columns.stride +
                                 (target->label - tile.first) * panel + s % panel]);
  }
}

// The targets' part of the loss, from their logits z: softmax -t z, sigmoid -z,
// squared (z - 1)^2 / 2 - z^2 / 2.
void OutputLayer::add_target_losses(Part& mine, const Tile& tile) {
  const double constant = network_.loss == Loss::squared ? 0.5 : 0.0;
  for_targets(mine, tile, [&](const Target& target, float z) {
    mine.loss[target.sample] += constant - static_cast<double>(target.weight) * z;
  });
}

// The softmax's target losses where the tile's logits have been replaced already: their logits are
// computed once more.
void OutputLayer::add_target_logits(Part& mine, const ModelVectors& vectors, Activity& input,
                                    const Tile& tile) {
  const Weights matrix = weights(vectors, tile);
  const float* bias = vectors.weight + segments_.bias.offset;
  for_targets(mine, tile, [&](const Target& target, float /*exponential*/) {
    const float z =
        kernels().dot(matrix.data + (target.label - tile.first) * matrix.stride, bias[target.label],
                      input.rows(), target.sample, samples_.padded, matrix.width);
    mine.loss[target.sample] -= static_cast<double>(target.weight) * z;
  });
}

void OutputLayer::subtract_targets(Part& mine, const Tile& tile) {
  const float share = 1.0F / static_cast<float>(samples_.count);
  for_targets(mine, tile, [&](const Target& target, float& g) { g -= target.weight * share; });
}

void OutputLayer::walk_forward(const ModelVectors& vectors, Activity& input, int member,
                               std::uint32_t top) {
  const Kernels& k = kernels();
  Part& mine = part(member);
  if (top > 0) mine.top.begin(top, samples_);
  if (network_.loss != Loss::softmax && top == 0) return;  // one pass is enough
  std::fill_n(mine.factor.data(), samples_.padded, 0.0F);
  for (std::size_t index = 0; index < tiles(mine); ++index) {
    // Prediction reads a tile only once, so it reuses one tile, which stays in the cache.
    Tile current = tile(mine, index);
    if (top > 0)
      current = {
          current.first, current.units, index, {mine.tile.data(), current.columns.stride}, false};
    Upcoming next;
    if (index + 1 < tiles(mine)) next.parts[0] = weights_part(vectors, tile(mine, index + 1));
    if (network_.loss == Loss::softmax && top == 0) {
      k.forward_exponentiate(weights(vectors, current),
                             vectors.weight + segments_.bias.offset + current.first,
                             input.columns(), samples_.panels, current.columns, next,
                             {mine.maximum.data(), mine.sum.data(), references(mine, current)});
      add_target_logits(mine, vectors, input, current);
      continue;
    }
    logits(vectors, input, current, next);
    add_target_losses(mine, current);
    if (top > 0) mine.top.offer(current.columns, current.first, current.units, samples_);
    if (network_.loss == Loss::softmax) {
      k.exponentiate(current.columns, current.units, samples_.panels, mine.maximum.data(),
                     mine.sum.data());
    } else {
      k.pointwise(network_.loss, current.columns, current.units, samples_.panels,
                  mine.factor.data(), mine.sum.data());
    }
  }
}

// Softmax's normaliser over all members: afterwards a label's gradient (but for the target) is
// exp(logit - shift) * factor. The same in every member.
void OutputLayer::join_parts(Part& mine) const {
  const float share = 1.0F / static_cast<float>(samples_.count);
  for (std::size_t s = 0; s < samples_.padded; ++s) {
    float top = kLowest;
    for (const Part& part : parts_) top = std::max(top, part.maximum[s]);
    float total = 0;
    for (const Part& part : parts_) total += part.sum[s] * std::exp(part.maximum[s] - top);
    mine.shift[s] = top;
    mine.factor[s] = s < samples_.count && labelled_[s] ? share / total : 0.0F;
  }
}

void OutputLayer::walk_backward(const ModelVectors& vectors, const UpdateRule& rule,
                                Activity& input, int member, bool want_error) {
  const Kernels& k = kernels();
  Part& mine = part(member);
  if (network_.loss == Loss::softmax) {
    join_parts(mine);
  } else {
    const float share = 1.0F / static_cast<float>(samples_.count);
    std::fill_n(mine.factor.data(), samples_.padded, 0.0F);
    std::fill_n(mine.factor.data(), samples_.count, share);
  }
  const Columns error = input.error(member);
  std::fill_n(error.data, samples_.padded * input.width(), 0.0F);
  for (std::size_t index = tiles(mine); index-- > 0;) {
    const Tile current = tile(mine, index);
    if (current.kept) {
      k.rescale(current.columns, current.units, samples_.panels, references(mine, current),
                mine.shift.data(), mine.factor.data());
    } else {
      logits(vectors, input, current, {});
      if (network_.loss == Loss::softmax) {
        k.normalise(current.columns, current.units, samples_.panels, mine.shift.data(),
                    mine.factor.data());
      } else {
        add_target_losses(mine, current);
        k.pointwise(network_.loss, current.columns, current.units, samples_.panels,
                    mine.factor.data(), mine.sum.data());
      }
    }
    subtract_targets(mine, current);
    if (want_error) {
      Upcoming next;
      if (index > 0) {
        const Tile following = tile(mine, index - 1);
        next.parts[0] = weights_part(vectors, following);
        if (following.kept) {
          next.parts[1] = {following.columns.data, samples_.panels * following.columns.stride};
        }
      }
      k.backward(weights(vectors, current), current.columns, samples_.panels, error, next);
    }
    mine.update.apply(segments_, vectors, rule, current.first, current.units, current.columns,
                      samples_, input.rows());
  }
}

double OutputLayer::sample_loss(std::size_t sample) const {
  double loss = 0;
  for (const Part& part : parts_) loss += part.loss[sample];
  if (network_.loss != Loss::softmax) {
    for (const Part& part : parts_) loss += part.sum[sample];
    return loss;
  }
  if (!labelled_[sample]) return 0;
  double top = kLowest;
  for (const Part& part : parts_) top = std::max<double>(top, part.maximum[sample]);
  double total = 0;
  for (const Part& part : parts_) total += part.sum[sample] * std::exp(part.maximum[sample] - top);
  return loss + top + std::log(total);
}

double OutputLayer::total_loss() const {
  double total = 0;
  for (std::size_t s = 0; s < samples_.count; ++s) total += sample_loss(s);
  return total;
}

void OutputLayer::append_predictions(Predictions& out) const {
  std::vector<Scored> merged;
  for (std::size_t s = 0; s < samples_.count; ++s) {
    merged.clear();
    for (const Part& part : parts_) {  // ascending labels, so a stable sort keeps ties in order
      merged.insert(merged.end(), part.top.of(s).begin(), part.top.of(s).end());
    }
    std::stable_sort(merged.begin(), merged.end(),
                     [](const Scored& a, const Scored& b) { return a.score > b.score; });
    merged.resize(out.k, {0, kLowest});
    double top = kLowest, total = 0;
    for (const Part& part : parts_) top = std::max<double>(top, part.maximum[s]);
    for (const Part& part : parts_) total += part.sum[s] * std::exp(part.maximum[s] - top);
    for (const Scored& scored : merged) {
      const double z = scored.score;
      double score = z;
      if (network_.loss == Loss::softmax) score = std::exp(z - top) / total;
      if (network_.loss == Loss::sigmoid) score = 1.0 / (1.0 + std::exp(-z));
      out.labels.push_back(scored.id);
      out.scores.push_back(static_cast<float>(score));
    }
    out.losses.push_back(static_cast<float>(sample_loss(s)));
  }
}

}  // namespace evener::cpu
