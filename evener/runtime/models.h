// The parameters that the workers of a run train. `Models` is what every kind of sharing has;
// model_kinds.h adds what only one kind has (merge replicas, apply gradients, apply pushes,
// exchange with peers). The strategy's catalogue row names the kind, and make_models() makes it.
//
// An executor runs the three parts of a task (begin, compute, end) on the worker's thread or in
// virtual time. The scheduler carries out the policy's decisions on the same object. All executors
// use the same arithmetic.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "evener/data/dataset.h"
#include "evener/device/device.h"
#include "evener/policy/catalogue.h"
#include "evener/runtime/compression.h"
#include "evener/runtime/task.h"

namespace evener {

/// A device failed outside a task, for example in a merge. `merged`: the global model contains all
/// that the worker had trained.
struct Failure {
  int worker = 0;
  std::string why;
  bool merged = false;
};

/// Vectors of the model's size, by name, as a checkpoint stores them.
using KeptVectors = std::map<std::string, FloatBuffer>;
/// Name of a worker's vector. Optimizer vectors have the numbers of Replica::take; higher numbers
/// are for what the kind of sharing adds.
std::string kept_name(std::size_t worker, std::size_t vector);
inline constexpr const char* kServerMomentum = "server.momentum";
/// Stores a copy of the vector under that name; an empty vector is not stored.
void keep_copy(const FloatBuffer& vector, const std::string& name, KeptVectors& kept);

class Models {
 public:
  virtual ~Models() = default;

  /// The kind of sharing, for messages: "replicas", "pushes", ...
  virtual const char* kind() const = 0;
  /// Whether this worker can run tasks of this kind of work. The scheduler refuses others.
  virtual bool can_run(int worker, Work work) const = 0;

  // A task in three parts, called on the worker's thread: copy parameters in, compute, write back.
  // `compute` returns the loss summed over the task's rows.
  virtual void begin(const Task& /*task*/) {}
  virtual double compute(const Task& task) = 0;
  virtual void end(const Task& /*task*/) {}
  /// Whether the worker prefetches Task::next. The scheduler then reserves rows for it, which has a
  /// cost where workers compete for rows.
  virtual bool prefetches(int /*worker*/) const { return false; }

  // The functions below are called from the scheduler's thread, while no worker has a task.

  /// The worker is lost: later calls leave it out.
  virtual void lose(int /*worker*/) {}
  /// Training continues after evaluator() or give(): replicas get back what they trained.
  virtual void resume() {}

  // Both return what happened since the last call, and clear it.
  std::vector<Failure> take_failures() { return std::exchange(failures_, {}); }
  /// Messages for the user.
  std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

  /// A replica that holds the global model, for predictions until resume(), and its worker.
  struct Evaluator {
    Replica* replica = nullptr;
    int worker = 0;
  };
  virtual Evaluator evaluator() = 0;
  /// Moves a vector of the global model out: 0 is the parameters, then optimizer state, numbered as
  /// in Replica::take. give() moves it back in, or moves in another.
  virtual FloatBuffer take(int vector) = 0;
  virtual void give(int vector, FloatBuffer values) = 0;
  /// The parameters given differ from those taken: replicas and the momentum of merges start from
  /// them when training continues.
  virtual void restart() {}

  // The rest of the state that an exact resume needs. keep() is called before take(); restore() is
  // called after give() when a run continues from a checkpoint. A vector that `kept` does not have
  // starts from the state given.
  virtual KeptVectors keep() { return {}; }
  virtual void restore(KeptVectors /*kept*/) {}

  /// Bytes of the parameters: the size of one copy.
  virtual std::size_t bytes() const = 0;
  /// Bytes that a task moves to its worker and back; valid between begin and compute.
  struct Traffic {
    std::size_t in = 0, out = 0;
  };
  virtual Traffic traffic(const Task& /*task*/) const { return {bytes(), bytes()}; }

 protected:
  /// Runs `work` for a worker; returns false and records a Failure if its device failed.
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

  /// The weights, where the weight of each worker with an empty vector (its device has just failed)
  /// is distributed over the others.
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
  std::vector<Device*> devices;  // one per worker
  int merge_threads = 1;         // threads of a merge, which runs while the workers are idle
};

/// The model that the strategy's kind of sharing needs. The makers of each kind (model_kinds.h)
/// take plain values and do not see the strategy.
std::unique_ptr<Models> make_models(const ModelSetup& setup, const StrategyChoice& strategy);

/// Runs a task's parts one after the other on a replica, and passes the next step to each step.
/// Returns the loss summed over the task's rows.
double step_through(Replica& replica, const Dataset* data, const Task& task);

/// Training options of one worker: worker 0 draws the same dropout masks as a single device would,
/// each other worker draws its own.
Training training_of_worker(const Training& training, std::size_t worker);

}  // namespace evener
