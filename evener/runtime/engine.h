// The engine makes and connects all that trains: the devices as workers, the strategy's policy, its
// models, an executor (real or virtual time, or a cluster), the timeline, and the scheduler that
// drives them. A run's session calls run_epoch() and evaluate() on it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evener/device/device.h"
#include "evener/policy/catalogue.h"
#include "evener/runtime/remote_workers.h"
#include "evener/runtime/scheduler.h"
#include "evener/runtime/supervision.h"
#include "evener/runtime/virtual_time.h"

namespace evener {

struct EngineSetup {
  Network network;
  Training training;
  EpochPlan plan;
  StrategyChoice strategy;
  std::size_t batch = 256;                         // rows of one update, over all devices
  std::size_t batch_per_device = 0;                // 0: not given
  std::vector<std::shared_ptr<Device>> devices;    // one per worker
  std::vector<double> speeds;                      // emulated speeds; empty: no emulation
  std::optional<VirtualTimeOptions> virtual_time;  // its device models then replace `devices`
  /// Set: the workers are in other processes, and the only device is for evaluation.
  std::shared_ptr<RemoteWorkers> remote_workers;
  Supervision supervision{};  // of local devices
};

/// The setup with its devices. UsageError where the strategy does not fit them or its options
/// contradict each other, as from Engine's constructor. It checks only strategy, batch sizes and
/// devices, so that it can be called before the data are read.
EngineSetup checked(EngineSetup setup);

/// What the workers sent and how often they exchanged models, since the engine was made.
struct Communication {
  std::uint64_t bytes = 0;      // of all workers
  std::uint64_t exchanges = 0;  // as exchanges_name() calls them

  Communication operator+(const Communication& other) const {
    return {bytes + other.bytes, exchanges + other.exchanges};
  }
};

class Engine {
 public:
  /// UsageError where the strategy does not fit the devices.
  explicit Engine(EngineSetup setup);
  /// After an error, tasks may still run: the executor ends them before their models are destroyed.
  /// What tasks that hang may use is not destroyed.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// As Scheduler::run_epoch.
  bool run_epoch(Position& position, const std::function<bool(const StepReport&)>& after_step) {
    return scheduler_.run_epoch(position, after_step);
  }
  std::vector<std::string> take_dropped_workers() { return scheduler_.take_dropped_workers(); }
  std::vector<std::string> take_cuts() { return scheduler_.take_cuts(); }
  /// Messages of the policy, the models and the devices for the user; the call clears them.
  std::vector<std::string> take_notes();
  std::vector<std::uint64_t> steps() const { return scheduler_.steps(); }
  void set_steps(std::span<const std::uint64_t> steps) { scheduler_.set_steps(steps); }

  /// Calls use(replica) with a replica that holds the global model, and again with another one if
  /// its device fails.
  template <class F>
  auto evaluate(F use) {
    for (;;) {
      const Models::Evaluator evaluator = models_->evaluator();
      try {
        return use(*evaluator.replica);
      } catch (const DeviceError& error) {
        scheduler_.lose(evaluator.worker, error.what());
      }
    }
  }

  /// As Policy::standings.
  std::vector<std::string> standings() const { return policy_->standings(); }

  /// May be changed between epochs.
  EpochPlan& plan() { return setup_.plan; }
  Models& models() { return *models_; }
  const Timeline& timeline() const { return timeline_; }
  Communication communication() const;
  /// As Scheduler::distance.
  std::optional<double> distance() const { return scheduler_.distance(); }
  /// Time since the engine was made, or virtual time. Measurements of the distance are not counted.
  Seconds now() const { return executor_->now() - scheduler_.measuring(); }
  bool is_virtual() const { return setup_.virtual_time.has_value(); }
  /// The workers that are present: "cpu:1 + cpu:1 (emulated x0.25)".
  std::string device_names() const;
  const StrategyChoice& strategy() const { return setup_.strategy; }

 private:
  EngineSetup setup_;
  std::shared_ptr<const Dataset> data_;  // the plan's; shares its storage
  std::vector<WorkerTraits> workers_;
  std::unique_ptr<Models> models_;
  std::unique_ptr<Policy> policy_;
  std::unique_ptr<Executor> executor_;
  Timeline timeline_;
  Scheduler scheduler_;
};

}  // namespace evener
