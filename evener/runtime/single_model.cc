#include <utility>

#include "evener/runtime/models.h"

namespace evener {

namespace {

/// One worker, whose replica is the model: nothing is kept twice.
class SingleModel final : public Models {
 public:
  explicit SingleModel(const ModelSetup& setup)
      : data_(setup.data),
        replica_(setup.devices.front()->make_replica(setup.network, setup.training)),
        bytes_(layout_of(setup.network).size * sizeof(float)) {}

  double compute(const Task& task) override {
    double sum = 0;
    for (std::size_t i = 0; i < task.parts.size(); ++i) {
      const auto& [slice, step] = task.parts[i];
      const Part* next = i + 1 < task.parts.size() ? &task.parts[i + 1]
                         : task.next               ? &*task.next
                                                   : nullptr;
      NextStep after;
      if (next != nullptr) after = {{data_, next->slice.rows}, next->step};
      sum += replica_->step({data_, slice.rows}, step, next != nullptr ? &after : nullptr) *
             static_cast<double>(slice.rows.size());
    }
    return sum;
  }
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
