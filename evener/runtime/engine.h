// Everything that trains, put together: devices, the strategy's policy and models, and the runtime
// that carries it out, in real or in virtual time.
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
#include "evener/runtime/virtual_time.h"

namespace evener {

struct EngineSetup {
  Network network;
  Training training;
  EpochPlan plan;
  StrategyChoice strategy;
  std::size_t batch = 256;                         // rows of one update, over all devices
  std::size_t batch_per_device = 0;                // 0: not given
  std::vector<std::shared_ptr<Device>> devices;    // of a run; trials use some of them
  std::vector<double> speeds;                      // emulated; empty: none
  std::optional<VirtualTimeOptions> virtual_time;  // its devices then stand for `devices`
  /// Set: workers are elsewhere, and the one device evaluates.
  std::shared_ptr<RemoteWorkers> remote_workers;
};

/// The setup with its devices. UsageError where the strategy does not fit them or its options
/// contradict each other, as Engine would say; only strategy, batch sizes and devices are looked
/// at, so that it can be asked before there is data.
EngineSetup checked(EngineSetup setup);

/// What was sent and how often models met, since an engine was made.
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
  /// Workers that are still under way, after an error, end before what they work on.
  ~Engine() { executor_.reset(); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// As Scheduler's.
  bool run_epoch(Position& position, const std::function<bool(const StepReport&)>& after_step) {
    return scheduler_.run_epoch(position, after_step);
  }
  std::vector<std::string> take_dropped_workers() { return scheduler_.take_dropped_workers(); }
  std::vector<std::string> take_cuts() { return scheduler_.take_cuts(); }
  /// What the policy and the devices have to say to people; cleared by this.
  std::vector<std::string> take_notes();
  std::vector<std::uint64_t> steps() const { return scheduler_.steps(); }
  void set_steps(std::span<const std::uint64_t> steps) { scheduler_.set_steps(steps); }
  /// As Policy's.

  /// Calls use(replica) with one that holds the global model; with another if its device fails.
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

  /// As Policy's.
  std::vector<std::string> standings() const { return policy_->standings(); }

  /// What the next epoch trains on may be changed between epochs.
  EpochPlan& plan() { return setup_.plan; }
  Models& models() { return *models_; }
  const Timeline& timeline() const { return timeline_; }
  Communication communication() const;
  /// As Scheduler's.
  std::optional<double> distance() const { return scheduler_.distance(); }
  /// Since the engine was made; virtual if it is, and then since its time began. What is only
  /// measured takes no time.
  Seconds now() const { return executor_->now() - scheduler_.measuring(); }
  bool is_virtual() const { return setup_.virtual_time.has_value(); }
  /// "cpu:1 + cpu:1 (emulated x0.25)": of those that are there when it is made.
  std::string device_names() const;
  const StrategyChoice& strategy() const { return setup_.strategy; }

 private:
  EngineSetup setup_;
  std::vector<WorkerTraits> workers_;
  std::unique_ptr<Models> models_;
  std::unique_ptr<Policy> policy_;
  std::unique_ptr<Executor> executor_;
  Timeline timeline_;
  Scheduler scheduler_;
};

}  // namespace evener
