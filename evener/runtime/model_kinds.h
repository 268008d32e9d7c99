// One interface for each kind of sharing that has decisions of its own. A policy's decision needs
// one of them: Merge needs replicas, ApplyPushes needs pushes, and so on. The scheduler gets it
// with model_as(), which throws if the policy and the model of a strategy do not belong together.
//
//   kind         decisions                                         class (file)
//   single       none                                              single_model.cc
//   shared       none: workers write to one model                  shared_model.cc
//   replicas     Merge, ElasticAverage, Measure                    replica_models.cc
//   gradients    Apply                                             gradient_model.cc
//   pushes       ApplyPushes, Reject                               server_model.cc, cluster/
//   peers        Offer, Answer, Decline, CompleteExchange, Average peer_models.cc
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "evener/runtime/models.h"
#include "evener/runtime/peer_replica.h"

namespace evener {

/// Each worker trains a replica; merges combine the replicas into a global model. Call all
/// functions while every worker is idle. A worker whose device fails in a call is left out of it,
/// and take_failures() reports it.
class ReplicaSharing : public Models {
 public:
  static constexpr const char* kKind = "replicas";
  const char* kind() const final { return kKind; }
  bool can_run(int /*worker*/, Work work) const final { return work == Work::local; }

  virtual void merge(const Merge& decision) = 0;
  /// How many vectors of the model's size such a merge moves from and to each worker.
  virtual std::size_t merged_vectors(const Merge& decision) const = 0;
  virtual void elastic_average(const ElasticAverage& decision) = 0;
  /// |w_i| / (number of parameters) of each worker's replica; 0 for a lost worker.
  virtual std::vector<double> norms() = 0;
  /// How far the replicas are from each other (replica_distance.h). Changes nothing.
  virtual double distance() = 0;
};

/// Each worker computes gradients of one model.
class GradientSharing : public Models {
 public:
  static constexpr const char* kKind = "gradients";
  const char* kind() const final { return kKind; }
  bool can_run(int /*worker*/, Work work) const final { return work == Work::gradient; }

  /// One step of the optimizer with the weighted sum of the gradients. All workers are idle.
  virtual void apply(const Apply& decision, const Step& step) = 0;
};

/// Each worker pulls the shared model and pushes what it changed. Both functions may be called
/// while other workers train.
class PushSharing : public Models {
 public:
  static constexpr const char* kKind = "pushes";
  const char* kind() const final { return kKind; }
  bool can_run(int /*worker*/, Work work) const final { return work == Work::pushed; }

  virtual void apply_pushes(const ApplyPushes& decision) = 0;
  /// Discards the worker's last push.
  virtual void reject(int worker) = 0;
};

/// Each worker trains a replica and exchanges it with one peer at a time. The worker of a call must
/// be idle; average() and distance() need all workers to be idle.
class PeerSharing : public Models {
 public:
  static constexpr const char* kKind = "peers";
  const char* kind() const final { return kKind; }
  bool can_run(int /*worker*/, Work work) const final { return work == Work::local; }

  // Both return the bytes of the message that the decision sends.
  virtual std::size_t offer(const Offer& decision) = 0;
  virtual std::size_t answer(const Answer& decision) = 0;
  virtual void complete_exchange(const CompleteExchange& decision) = 0;
  /// The global model becomes the mean of all replicas; they stay as they are.
  virtual void average() = 0;
  /// |x - ref| / |ref| of a worker's replica x, where ref is the replica after its last exchange.
  virtual double change(int worker) const = 0;
  /// How far the replicas are from each other (replica_distance.h). Changes nothing.
  virtual double distance() = 0;
};

/// Throws the Error of model_as().
[[noreturn]] void refuse_decision(const Models& models, const char* decision, const char* kind);

/// The model as the kind that this decision needs. Error where the run's model is of another kind:
/// the strategy's policy and its kind of sharing contradict each other.
template <class Kind>
Kind& model_as(Models& models, const char* decision) {
  if (auto* model = dynamic_cast<Kind*>(&models)) return *model;
  refuse_decision(models, decision, Kind::kKind);
}

// Each is defined in its own file.
std::unique_ptr<Models> make_single_model(const ModelSetup& setup);
/// `overwrites`: a worker with a copy replaces the shared model by it; otherwise it adds what its
/// step changed.
std::unique_ptr<Models> make_shared_model(const ModelSetup& setup, bool overwrites);
std::unique_ptr<ReplicaSharing> make_replica_models(const ModelSetup& setup);
std::unique_ptr<GradientSharing> make_gradient_model(const ModelSetup& setup);
std::unique_ptr<PushSharing> make_server_model(const ModelSetup& setup,
                                               const Compression& compression = {});
std::unique_ptr<PeerSharing> make_peer_models(const ModelSetup& setup, const PeerOptions& options);

}  // namespace evener
