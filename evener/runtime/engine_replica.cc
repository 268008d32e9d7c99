#include "evener/runtime/engine_replica.h"

#include <utility>

namespace evener {

namespace {

/// Some strategies give a whole batch to one device. Here the devices share each batch.
EngineSetup for_one_node(EngineSetup setup) {
  check_inside_node(*setup.strategy.strategy);
  if (setup.batch_per_device == 0 && !setup.devices.empty()) {
    setup.batch_per_device = (setup.batch + setup.devices.size() - 1) / setup.devices.size();
  }
  return setup;
}

class EngineReplica final : public Replica {
 public:
  explicit EngineReplica(EngineSetup setup)
      : vectors_(1 + state_vectors(setup.training.optimizer)),
        engine_(for_one_node(std::move(setup))) {
    engine_.plan().schedule = {};  // each step has its own learning rate,
    engine_.plan().rates = {};     // which is for the rows that the node gets
  }

  double step(const Batch& batch, const Step& step, const NextStep* /*next*/) override {
    engine_.plan().rows = batch.rows;
    engine_.plan().schedule.learning_rate = step.learning_rate;
    Position position{done_.step, done_.epoch, 0, 0};
    engine_.run_epoch(position, [](const StepReport&) { return true; });
    done_ = {position.step, done_.epoch + 1, 0, 0};
    return position.loss_sum / static_cast<double>(batch.rows.size());
  }
  void predict(const Batch& batch, Predictions& out) override {
    engine_.evaluate([&](Replica& replica) { replica.predict(batch, out); });
  }
  int vectors() const override { return vectors_; }
  FloatBuffer take(int vector) override { return engine_.models().take(vector); }
  void give(int vector, FloatBuffer values) override {
    engine_.models().give(vector, std::move(values));
    if (vector == 0) engine_.models().restart();
  }

 private:
  int vectors_;
  Engine engine_;
  Position done_;  // each batch is one epoch for the strategy
};

}  // namespace

std::unique_ptr<Replica> make_engine_replica(EngineSetup setup) {
  return std::make_unique<EngineReplica>(std::move(setup));
}

}  // namespace evener
