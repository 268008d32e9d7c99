#include "evener/runtime/peer_replica.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "evener/runtime/models.h"
#include "evener/runtime/replica_distance.h"

namespace evener {

PeerOptions peer_options(const StrategyChoice& strategy) {
  const GossipRule rule = strategy.gossip();
  return {rule.adaptive, rule.push_sum, rule.changed_rows, rule.eps_rows, rule.compression};
}

PeerReplica::PeerReplica(std::unique_ptr<Replica> replica, const Network& network,
                         const Dataset& data, const PeerOptions& options)
    : replica_(std::move(replica)),
      network_(network),
      map_(network),
      data_(data),
      options_(options),
      touched_(map_.rows()),
      reference_(tracks() ? map_.size() : 0) {}

void PeerReplica::start_from(std::span<const float> model) {
  replica_->load(0, model);
  touched_.clear();
  change_ = behind_ = 0;
  if (tracks()) measure_from(model);
}

void PeerReplica::measure_from(std::span<const float> reference) {
  std::copy_n(reference.data(), map_.size(), reference_.data());
  length_ = 0;
  for (const float value : reference) length_ += static_cast<double>(value) * value;
}

double PeerReplica::train(const Task& task) {
  const double sum = step_through(*replica_, &data_, task);
  check_intact(data_);  // before the model is sent to other peers
  for (const auto& part : task.parts) touched_.add_step(network_, data_, part.slice.rows);
  if (!options_.measures) return sum;
  with_own(
      [&] { change_ = std::sqrt(std::max(0.0, distance() - behind_) / std::max(length_, 1e-24)); });
  return sum;
}

ModelUpdate PeerReplica::offer() {
  ModelUpdate update;
  with_own([&] {
    update = places_to_send();
    if (picks()) pick(update);
    pack(update, update);
    round(update);
    if (!options_.push_sum) return;
    weight_ /= 2;
    update.weight = weight_;
    // w x = w/2 (x + residual) + w/2 (x - residual), and the second term was sent.
    if (update.half) map_.for_numbers(update, [&](auto at, auto i) { own_[at] += residual_[i]; });
    follow(update);  // the receiver has these numbers
  });
  return update;
}

ModelUpdate PeerReplica::answer(const ModelUpdate& offer) {
  ModelUpdate mine;
  if (options_.push_sum) {
    const double sum = weight_ + offer.weight;
    with_own([&] {
      pack(offer, mine);
      exchange_distance_ = pair_distance(offer.values, mine.values);
      const auto share = static_cast<float>(offer.weight / sum);
      move(offer, offer.values, mine.values, share);
      if (!tracks()) return;
      map_.for_numbers(offer, [&](auto at, auto i) {  // what was received is not its own change
        set_reference(at, reference_[at] + share * (offer.values[i] - mine.values[i]));
      });
    });
    weight_ = sum;
    return {};
  }
  mine.places = ModelUpdate::Places::offered;
  with_own([&] {
    pack(offer, mine);
    round(mine);
    exchange_distance_ = pair_distance(offer.values, mine.values);
    move(offer, offer.values, mine.values, 0.5F);
    follow(offer);
  });
  return mine;
}

void PeerReplica::complete_exchange(const ModelUpdate& offered, const ModelUpdate& reply) {
  change_ = 0;
  exchange_distance_.reset();
  if (options_.push_sum) return;
  exchange_distance_ = pair_distance(offered.values, reply.values);
  with_own([&] {
    move(offered, reply.values, offered.values, 0.5F);
    follow(offered);
  });
}

ModelUpdate PeerReplica::whole() {
  ModelUpdate update;
  with_own([&] { pack(update, update); });
  update.weight = weight_;
  return update;
}

PeerReplicaState PeerReplica::state() {
  PeerReplicaState state;
  for (int i = 1; i < replica_->vectors(); ++i) {
    replica_->store(i, state.optimizer.emplace_back(map_.size()).span());
  }
  state.reference = FloatBuffer(reference_.size());
  std::copy_n(reference_.data(), reference_.size(), state.reference.data());
  state.behind = behind_;
  state.weight = weight_;
  return state;
}

void PeerReplica::restore(const PeerReplicaState& state) {
  for (std::size_t i = 0; i < state.optimizer.size(); ++i) {
    replica_->load(static_cast<int>(i) + 1, state.optimizer[i].span());
  }
  weight_ = state.weight;
  if (!tracks() || state.reference.size() != map_.size()) return;
  measure_from(state.reference.span());
  behind_ = state.behind;
  with_own([&] {
    for (std::uint32_t row = 0; row < map_.rows(); ++row) {
      if (distance(map_.row(row)) > 0) touched_.add(row);
    }
  });
}

/// Squared, from the reference. Rows without a step are equal in both.
double PeerReplica::distance() const {
  double squares = 0;
  for (const std::uint32_t row : touched_.rows()) squares += distance(map_.row(row));
  const std::size_t dense = map_.row(map_.rows()).at;
  return squares + distance({dense, map_.size() - dense});
}

double PeerReplica::distance(const ModelUpdateLayout::Stretch& stretch) const {
  constexpr std::size_t kBlock = 1024;  // short enough for a sum in single precision
  double squares = 0;
  const std::size_t end = stretch.at + stretch.floats;
  for (std::size_t at = stretch.at; at < end; at += kBlock) {
    float sum = 0;
    for (std::size_t j = at; j < std::min(at + kBlock, end); ++j) {
      const float d = own_[j] - reference_[j];
      sum += d * d;
    }
    squares += sum;
  }
  return squares;
}

bool PeerReplica::has_changed(const ModelUpdateLayout::Stretch& row) const {
  double length = 0;
  for (std::size_t j = row.at; j < row.at + row.floats; ++j) {
    length += reference_[j] * reference_[j];
  }
  return distance(row) > options_.eps_rows * options_.eps_rows * length;
}

ModelUpdate PeerReplica::places_to_send() const {
  ModelUpdate update;
  if (!options_.changed_rows) return update;
  update.places = ModelUpdate::Places::listed;
  for (const std::uint32_t row : touched_.rows()) {
    if (has_changed(map_.row(row))) update.rows.push_back(row);
  }
  std::sort(update.rows.begin(), update.rows.end());
  for (std::uint32_t label = 0; label < map_.labels(); ++label) {
    if (has_changed(map_.label(label))) update.labels.push_back(label);
  }
  return update;
}

/// Selects the numbers that have changed most since they were last sent. The others are sent later.
void PeerReplica::pick(ModelUpdate& update) const {
  std::vector<float> changes;
  map_.for_places(update, [&](std::size_t at, std::size_t n) {
    for (std::size_t j = at; j < at + n; ++j) changes.push_back(own_[j] - reference_[j]);
  });
  std::vector<float> residual(changes.size());
  compress(options_.compression, changes, residual);
  update.some = true;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (changes[i] != 0) update.picked.push_back(static_cast<std::uint32_t>(i));
  }
}

/// Fills the update with this model's numbers at the positions of `at`.
void PeerReplica::pack(const ModelUpdate& at, ModelUpdate& update) const {
  if (at.some) {
    update.values.reserve(at.picked.size());
    map_.for_numbers(at, [&](auto place, auto) { update.values.push_back(own_[place]); });
    return;
  }
  update.values.reserve(map_.numbers(at));
  map_.for_places(at, [&](std::size_t place, std::size_t n) {
    update.values.insert(update.values.end(), own_.data() + place, own_.data() + place + n);
  });
}

void PeerReplica::round(ModelUpdate& update) {
  if (options_.compression.kind != Compression::Kind::fp16) return;
  update.half = true;
  residual_.resize(update.values.size());
  compress(options_.compression, update.values, residual_);
}

/// x += share (to - from) at the positions of the offer. Both peers of an exchange use the same two
/// numbers, in opposite order: their moves are opposite to the bit.
void PeerReplica::move(const ModelUpdate& offer, const std::vector<float>& to,
                       const std::vector<float>& from, float share) {
  map_.for_numbers(offer, [&](auto at, auto i) { own_[at] += share * (to[i] - from[i]); });
}

void PeerReplica::set_reference(std::size_t at, float value) {
  const float was = std::exchange(reference_[at], value);
  length_ += static_cast<double>(value) * value - static_cast<double>(was) * was;
}

/// From now on, changes are measured from the current numbers at the positions of the offer.
void PeerReplica::follow(const ModelUpdate& offer) {
  change_ = behind_ = 0;
  if (tracks()) {
    map_.for_numbers(offer, [&](auto at, auto) { set_reference(at, own_[at]); });
  }
  if (offer.places == ModelUpdate::Places::all && !offer.some) return touched_.clear();
  if (!offer.some) {
    RowSet rest(map_.rows());
    for (const std::uint32_t row : touched_.rows()) {
      if (!std::binary_search(offer.rows.begin(), offer.rows.end(), row)) rest.add(row);
    }
    touched_ = std::move(rest);
  }
  if (options_.measures) behind_ = distance();
}

}  // namespace evener
