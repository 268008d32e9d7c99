// The parameters that workers train: one replica, one shared model, a replica each, or gradients of
// one model. Chosen by the strategy; both runtimes use the same arithmetic.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "evener/data/dataset.h"
#include "evener/device/device.h"
#include "evener/policy/catalogue.h"
#include "evener/runtime/compression.h"
#include "evener/runtime/task.h"

namespace evener {

/// A worker whose device failed while nobody was training. `merged`: what it had trained is in the
/// global model all the same.
struct Failure {
  int worker = 0;
  std::string why;
  bool merged = false;
};

/// Vectors of the model's size, by name.
using KeptVectors = std::map<std::string, FloatBuffer>;
/// Of a worker's vector, numbered as Replica's; what follows those of its optimizer is its own.
std::string kept_name(std::size_t worker, std::size_t vector);
inline constexpr const char* kServerMomentum = "server.momentum";
/// A copy under that name, unless there is nothing.
void keep_copy(const FloatBuffer& vector, const std::string& name, KeptVectors& kept);

class Models {
 public:
  virtual ~Models() = default;

  // A task in three parts, called by its worker: copy in, compute, write back. `compute` returns
  // the loss summed over the task's rows.
  virtual void begin(const Task& /*task*/) {}
  virtual double compute(const Task& task) = 0;
  /// Whether a worker makes use of Task::next. Where workers compete for rows it costs something.
  virtual bool looks_ahead(int /*worker*/) const { return false; }
  virtual void end(const Task& /*task*/) {}

  // While others are at work: what workers have pushed comes into the model, or is forgotten.
  virtual void apply_pushes(const ApplyPushes& decision);
  virtual void reject(int /*worker*/) {}

  // Between gossiping nodes, of a worker that is idle; what a message takes along, in bytes.
  virtual std::size_t offer(const Offer& decision);
  virtual std::size_t answer(const Answer& decision);
  virtual void complete_exchange(const CompleteExchange& decision);
  /// Called while every worker is idle.
  virtual void average();
  /// Of a worker that just finished: how far its model is from the one after its last exchange.
  virtual double change(int /*worker*/) const { return 0; }

  // Called while every worker is idle. A worker whose device fails meanwhile is left out, and
  // take_failures() tells.
  virtual void merge(const Merge& decision);
  virtual void elastic_average(const ElasticAverage& decision);
  virtual void apply(const Apply& decision, const Step& step);
  virtual std::vector<double> norms() { return {}; }
  /// Between the replicas that are there (replica_distance.h); nothing where each worker has none
  /// of its own. Changes nothing.
  virtual std::optional<double> distance() { return std::nullopt; }
  virtual void lose(int /*worker*/) {}
  /// After evaluator() or give(): replicas are what they must be when training goes on.
  virtual void resume() {}

  // Since they were last asked: who failed, and what else the user should know.
  std::vector<Failure> take_failures() { return std::exchange(failures_, {}); }
  std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

  /// A replica that holds the global model, to predict with until resume(), and whose it is.
  struct Evaluator {
    Replica* replica = nullptr;
    int worker = 0;
  };
  virtual Evaluator evaluator() = 0;
  /// The global model: vector 0, then optimizer state, as Replica's of the same name.
  virtual FloatBuffer take(int vector) = 0;
  virtual void give(int vector, FloatBuffer values) = 0;
  /// What was given is another model than was taken: replicas start from it when training goes on,
  /// and so does the momentum of merges.
  virtual void restart() {}

  // What else an exact resume needs. Asked while every worker is idle, before take; given after
  // give where a run goes on from a checkpoint, and what is not among it begins as the state given
  // does.
  virtual KeptVectors keep() { return {}; }
  virtual void restore(KeptVectors /*kept*/) {}

  /// Bytes of the parameters, what a copy moves.
  virtual std::size_t bytes() const = 0;
  /// What a task moves to its worker and back, where it does; asked between begin and compute.
  struct Traffic {
    std::size_t in = 0, out = 0;  // bytes
  };
  virtual Traffic traffic(const Task& /*task*/) const { return {bytes(), bytes()}; }

 protected:
  /// Does `work` for a worker; false if its device failed, which is noted.
  template <class F>
  bool attempt(std::size_t worker, bool merged, F work) {
    try {
      work();
      return true;
    } catch (const DeviceError& error) {
      failures_.push_back({static_cast<int>(worker), error.what(), merged});
      return false;
    }
  }

  void note(std::string text) { notes_.push_back(std::move(text)); }

  /// The weights, with those of workers that have nothing to give (they just failed) spread over
  /// the others.
  static std::vector<double> shares_of_present(std::vector<double> weights,
                                               const std::vector<FloatBuffer>& given);

 private:
  std::vector<Failure> failures_;
  std::vector<std::string> notes_;
};

struct ModelSetup {
  Network network;
  Training training;
  const Dataset* data = nullptr;
  std::vector<Device*> devices;  // one a worker
  int merge_threads = 1;         // that merges may use while the workers are idle
};
std::unique_ptr<Models> make_models(const ModelSetup& setup, const StrategyChoice& strategy);

// One file each.
std::unique_ptr<Models> make_single_model(const ModelSetup& setup);
std::unique_ptr<Models> make_shared_model(const ModelSetup& setup, bool overwrites);
std::unique_ptr<Models> make_replica_models(const ModelSetup& setup);
std::unique_ptr<Models> make_gradient_model(const ModelSetup& setup);
std::unique_ptr<Models> make_peer_models(const ModelSetup& setup, const StrategyChoice& strategy);
std::unique_ptr<Models> make_server_model(const ModelSetup& setup,
                                          const Compression& compression = {});

/// Does a task's parts one after the other, each knowing the next; the loss summed over its rows.
double step_through(Replica& replica, const Dataset* data, const Task& task);

/// Worker 0 draws the same dropout masks as a single device would; the others their own.
Training training_of_worker(const Training& training, std::size_t worker);

}  // namespace evener
