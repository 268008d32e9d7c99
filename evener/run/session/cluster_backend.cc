// A run whose workers are other processes: the backend of a coordinator.
#include <utility>

#include "evener/core/error.h"
#include "evener/core/time.h"
#include "evener/run/options/strategy_for.h"
#include "evener/run/report/status.h"
#include "evener/run/session/backends.h"
#include "evener/run/session/cluster_job.h"
#include "evener/run/session/engine_backend.h"
#include "evener/run/session/new_run.h"

namespace evener {

namespace {

constexpr Seconds kStatusInterval = 0.2;

class ClusterBackend : public EngineBackend {
 public:
  explicit ClusterBackend(std::shared_ptr<ClusterCoordinator> coordinator)
      : coordinator_(std::move(coordinator)) {}

  RunKind kind() const override { return RunKind::cluster; }
  bool is_unattended() const override { return true; }

  std::vector<std::string> open(TrainOptions& options, const Checkpoint* /*resumed*/,
                                const BackendContext& context) override {
    return open_evaluator(options, context.devices);
  }

  /// Checks the options, and opens the device for evaluation.
  std::vector<std::string> open_evaluator(TrainOptions& options, const DeviceContext& context) {
    if (!options.emulate.empty()) {
      throw UsageError("--emulate: only workers can be slowed down: evener worker --emulate");
    }
    if (options.devices == "auto") options.devices = "cpu";
    RunDevices devices = open_run_devices(options, context);
    std::vector<std::string> notes = devices.notes;
    set_up(options, strategy_for_nodes(options), std::move(devices), false, coordinator_);
    return notes;
  }

  void start(const TrainOptions& options, const TrainingData& data, Checkpoint& start) override {
    const std::size_t batch = batch_of_node(setup());
    coordinator_->offer({option_texts(with_absolute_paths(options)), fingerprint_of(data), batch});
    EngineBackend::start(options, data, start);
  }

  void publish_status(const ProgressState& state, double seconds) override {
    if (clock_.elapsed() - last_status_ < kStatusInterval) return;
    last_status_ = clock_.elapsed();
    coordinator_->set_status(status_json(engine(), state, seconds, coordinator_->ignored()));
  }

  void give_up(const std::string& why) override { coordinator_->fail(why); }

 private:
  std::shared_ptr<ClusterCoordinator> coordinator_;
  Stopwatch clock_;
  Seconds last_status_ = -1;
};

}  // namespace

std::unique_ptr<Backend> make_cluster_backend(std::shared_ptr<ClusterCoordinator> coordinator) {
  return std::make_unique<ClusterBackend>(std::move(coordinator));
}

void check_cluster_options(TrainOptions options, const DeviceContext& context) {
  ClusterBackend(nullptr).open_evaluator(options, context);
}

}  // namespace evener
