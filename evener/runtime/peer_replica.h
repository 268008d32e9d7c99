// A gossiping node's model: what it trains on, what it sends to a peer, and what it takes of a
// peer's (policy/gossip_node.h has the arithmetic). Nodes of one process and of many use the same.
//
// With fewer bits or numbers on the way the sum of all models is kept as well: both sides of an
// exchange move by the numbers that travelled, so that what rounding took off, and what was not
// picked, stays in the model of who sent it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "evener/device/device.h"
#include "evener/policy/catalogue.h"
#include "evener/runtime/compression.h"
#include "evener/runtime/model_update.h"
#include "evener/runtime/row_set.h"
#include "evener/runtime/task.h"

namespace evener {

struct PeerOptions {
  bool measures = false;  // how far the model has changed: for who exchanges by that
  bool push_sum = false;
  bool changed_rows = false;  // only rows that have changed by more than eps_rows travel
  double eps_rows = 0;
  Compression compression{};
};
PeerOptions peer_options(const StrategyChoice& strategy);

/// What a peer remembers beside its model.
struct PeerReplicaState {
  std::vector<FloatBuffer> optimizer;  // its vectors
  FloatBuffer reference;  // the model as others know it: what has not travelled yet is owed; may be
                          // empty
  double behind = 0;      // squared distance from it after the last exchange
  double weight = 1;      // of push-sum
};

/// All calls but train() while no step is under way. DeviceError as the device's.
class PeerReplica {
 public:
  /// `data` outlives it.
  PeerReplica(std::unique_ptr<Replica> replica, const Network& network, const Dataset& data,
              const PeerOptions& options);

  /// All rows and everything else are this model's.
  void start_from(std::span<const float> model);
  /// The loss summed over the rows.
  double train(const Task& task);
  /// |x - ref| / |ref| after the last step, where ref is the model after the last exchange. What
  /// stayed behind then is not counted again.
  double change() const { return change_; }

  ModelUpdate offer();
  /// Takes half of the offer; its own as it was. Of push-sum: takes what was given, and nothing.
  ModelUpdate answer(const ModelUpdate& offer);
  void complete_exchange(const ModelUpdate& offered, const ModelUpdate& reply);

  /// How far both models were apart in the last answer() or complete_exchange()
  /// (replica_distance.h), by the numbers that travelled; nothing where it has not seen the
  /// other's.
  std::optional<double> apart() const { return apart_; }

  /// All of it.
  ModelUpdate whole();

  PeerReplicaState memory();
  /// After start_from. Of a memory without a reference all that it starts from has travelled.
  void remember(const PeerReplicaState& memory);

  /// Calls read(model).
  template <class F>
  void look(F read) {
    with_own([&] { read(std::as_const(own_).span()); });
  }
  Replica& device() { return *replica_; }
  const Replica& device() const { return *replica_; }
  double weight() const { return weight_; }

 private:
  template <class F>
  void with_own(F work) {
    own_ = replica_->take(0);
    try {
      work();
    } catch (...) {
      replica_->give(0, std::move(own_));
      throw;
    }
    replica_->give(0, std::move(own_));
  }
  bool picks() const { return options_.compression.kind == Compression::Kind::top_k; }
  bool tracks() const { return options_.measures || options_.changed_rows || picks(); }
  double distance() const;
  double distance(const ModelUpdateLayout::Stretch& stretch) const;
  bool has_changed(const ModelUpdateLayout::Stretch& row) const;
  ModelUpdate places_to_send() const;
  void pick(ModelUpdate& update) const;
  void pack(const ModelUpdate& at, ModelUpdate& update) const;
  void round(ModelUpdate& update);
  void move(const ModelUpdate& offer, const std::vector<float>& to, const std::vector<float>& from,
            float share);
  void follow(const ModelUpdate& offer);
  void set_reference(std::size_t at, float value);
  void measure_from(std::span<const float> reference);

  std::unique_ptr<Replica> replica_;
  bool sparse_;
  ModelUpdateLayout map_;
  const Dataset& data_;
  PeerOptions options_;
  RowSet touched_;           // by steps since the row was exchanged
  FloatBuffer own_;          // the parameters while they are in the host's hands
  FloatBuffer reference_;    // where it matters
  std::vector<float> owed_;  // what rounding took off the last update
  double length_ = 0;        // squared, of the reference
  double behind_ = 0;        // squared distance from it after the last exchange
  double change_ = 0;
  double weight_ = 1;  // of push-sum
  std::optional<double> apart_;
};

}  // namespace evener
