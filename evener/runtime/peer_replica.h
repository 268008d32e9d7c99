// The model of a gossip peer: it trains, makes the updates that the peer sends, and applies those
// that it receives (policy/gossip_node.h has the arithmetic). Peers in one process (peer_models.cc)
// and in many (cluster/gossip) use the same class.
//
// Compression keeps the sum of all models too: both peers of an exchange move by the numbers that
// were sent, so that the rounding error, and the numbers that were not selected, stay in the
// sender's model.
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
  bool measures = false;  // change() is used: the policy exchanges when the model has changed
  bool push_sum = false;
  bool changed_rows = false;  // send only rows that have changed by more than eps_rows
  double eps_rows = 0;
  Compression compression{};
};
PeerOptions peer_options(const StrategyChoice& strategy);

/// The state of a peer besides its model, for checkpoints and for a peer that joins again.
struct PeerReplicaState {
  std::vector<FloatBuffer> optimizer;  // state vectors
  FloatBuffer reference;  // the model as it was last sent; the difference is still to send. May be
                          // empty
  double behind = 0;      // squared distance from it after the last exchange
  double weight = 1;      // of push-sum
};

/// Call all functions while no step is under way. They throw the device's DeviceError.
class PeerReplica {
 public:
  /// `data` outlives it.
  PeerReplica(std::unique_ptr<Replica> replica, const Network& network, const Dataset& data,
              const PeerOptions& options);

  /// The replica becomes a copy of this model, all of which counts as sent.
  void start_from(std::span<const float> model);
  /// Returns the loss summed over the rows.
  double train(const Task& task);
  /// |x - ref| / |ref| after the last step, where ref is the model after the last exchange. What
  /// the exchange did not send is not counted again.
  double change() const { return change_; }

  ModelUpdate offer();
  /// Moves halfway to the offer and returns the model as it was before. With push-sum: adds the
  /// offer and returns nothing.
  ModelUpdate answer(const ModelUpdate& offer);
  void complete_exchange(const ModelUpdate& offered, const ModelUpdate& reply);

  /// The pair_distance (replica_distance.h) of both models in the last answer() or
  /// complete_exchange(), over the numbers that were sent; nothing if the peer's were not sent.
  std::optional<double> exchange_distance() const { return exchange_distance_; }

  /// The whole model.
  ModelUpdate whole();

  PeerReplicaState state();
  /// Call it after start_from. Without a reference, all of the model counts as sent.
  void restore(const PeerReplicaState& state);

  /// Calls read(model) with the parameters in host memory.
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
  Network network_;
  ModelUpdateLayout map_;
  const Dataset& data_;
  PeerOptions options_;
  RowSet touched_;               // rows with a step since they were last exchanged
  FloatBuffer own_;              // the parameters, inside with_own()
  FloatBuffer reference_;        // the model as it was last sent; empty where nothing needs it
  std::vector<float> residual_;  // rounding error of the last update
  double length_ = 0;            // squared norm of the reference
  double behind_ = 0;            // squared distance from it after the last exchange
  double change_ = 0;
  double weight_ = 1;  // of push-sum
  std::optional<double> exchange_distance_;
};

}  // namespace evener
