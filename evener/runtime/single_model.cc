// The model of one worker: its replica is the global model, and nothing is stored twice.
#include <utility>

#include "evener/runtime/model_kinds.h"

namespace evener {

namespace {

class SingleModel final : public Models {
 public:
  explicit SingleModel(const ModelSetup& setup)
      : data_(setup.data),
        replica_(setup.devices.front()->make_replica(setup.network, setup.training)),
        bytes_(layout_of(setup.network).size * sizeof(float)) {}

  const char* kind() const override { return "single"; }
  bool can_run(int /*worker*/, Work work) const override { return work == Work::local; }
  double compute(const Task& task) override { return step_through(*replica_, data_, task); }
  Evaluator evaluator() override { return {replica_.get(), 0}; }
  FloatBuffer take(int vector) override { return replica_->take(vector); }
  void give(int vector, FloatBuffer values) override { replica_->give(vector, std::move(values)); }
  std::size_t bytes() const override { return bytes_; }

 private:
  const Dataset* data_;
  std::unique_ptr<Replica> replica_;
  std::size_t bytes_;
};

}  // namespace

std::unique_ptr<Models> make_single_model(const ModelSetup& setup) {
  return std::make_unique<SingleModel>(setup);
}

}  // namespace evener
