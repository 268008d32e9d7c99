// The common part of the backends for local devices, simulated devices and clusters: an engine
// trains (runtime/engine.h), and under --strategy auto trials choose its devices.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "evener/run/devices/device_selector.h"
#include "evener/run/session/backend.h"
#include "evener/run/session/shortlist_run.h"

namespace evener {

class EngineBackend : public Backend {
 public:
  void check(const TrainOptions& options, const TrainingData& data,
             const Network& network) override;
  void start(const TrainOptions& options, const TrainingData& data, Checkpoint& start) override;
  bool prepare(Checkpoint& start) override;
  Seconds preparation_seconds() const override { return preparation_; }
  std::string description() const override;
  std::string hint() const override { return hint_; }

  bool run_epoch(bool measures_distance, const AfterStep& after_step) override;
  Position position() const override;
  void close_epoch() override {
    position_ = {position_.step, position_.epoch + 1, 0, 0, position_.seconds};
  }
  double loss() const override;
  Seconds now() const override { return selector_->now() - begin_; }
  BackendNews take_news(TrainOptions& options) override;
  bool has_resolved_auto() const override { return selector_->decided(); }
  BackendReport report(double seconds) const override;

  void evaluate(const std::function<void(Replica&)>& use) override;
  FloatBuffer take_parameters() override { return models().take(0); }
  void give_parameters(FloatBuffer parameters) override { models().give(0, std::move(parameters)); }
  void take_state(Checkpoint& checkpoint) override;
  void give_state(Checkpoint& checkpoint) override;

  BackendSummary summary() const override;
  void close(const std::string& error) override;

 protected:
  /// For `open`: signals and messages of the preparation.
  void set_context(const BackendContext& context) { context_ = context; }
  /// Opens --devices. The error says so if they are the missing devices of a resumed run.
  static RunDevices open_run_devices(const TrainOptions& options, const DeviceContext& context);
  /// For `open`: the engine's setup. `strategy` trains; with `tries_devices` the trials begin with
  /// it, and the options stay `auto`. UsageError if it does not fit the devices.
  void set_up(TrainOptions& options, const std::string& strategy, RunDevices devices,
              bool tries_devices, std::shared_ptr<RemoteWorkers> remote_workers = nullptr);
  /// Called once, when the trials have chosen devices.
  virtual void keep_choice(TrainOptions& /*options*/, const DeviceChoice&) {}

  EngineSetup& setup() { return setup_; }
  Engine& engine() { return selector_->engine(); }
  const Engine& engine() const { return selector_->engine(); }
  const std::vector<std::string>& device_names() const { return device_names_; }

 private:
  Models& models() { return engine().models(); }
  void make_engine(const TrainOptions& options, const TrainingData& data, Checkpoint& start);
  int preparing_threads() const;

  BackendContext context_;
  EngineSetup setup_;                        // until the engine is made
  std::unique_ptr<ShortlistRun> shortlist_;  // null: the full head
  TrainOptions options_;                     // of a run with it
  Seconds preparation_ = 0;                  // part of the run's time, and not of position_
  bool tries_devices_ = false;
  std::vector<std::string> device_names_;  // of all devices at the start of the session
  std::size_t optimizer_vectors_ = 0;
  std::string hint_;
  std::unique_ptr<DeviceSelector> selector_;
  Position position_;
  Seconds begin_ = 0;               // of the session; a resumed simulation continues its clock
  bool training_ = false;           // inside run_epoch
  std::uint64_t rows_trained_ = 0;  // of the epoch; without tasks in progress
};

}  // namespace evener
