// The reference implementation as a device, to test the training loop alone, with hooks to observe
// or disturb the loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "evener/device/device.h"
#include "evener/nn/reference.h"

namespace evener {

/// Each may be empty.
struct DeviceHooks {
  std::function<void(const Batch&, const Step&)> before_step;
  std::function<double(double loss)> change_loss;
  std::function<void(std::span<const float> parameters)> after_step;
  std::function<void(const Batch&)> before_predict;
};

class ReferenceReplica : public Replica {
 public:
  ReferenceReplica(const Network& network, const Training& training, const DeviceHooks& hooks)
      : network_(network), training_(training), hooks_(hooks) {
    const std::size_t size = layout_of(network).size;
    parameters_.resize(size);
    state_.resize(static_cast<std::size_t>(state_vectors(training.optimizer)),
                  std::vector<float>(size));
  }
  double step(const Batch& batch, const Step& step, const NextStep* /*next*/) override {
    if (hooks_.before_step) hooks_.before_step(batch, step);
    const double loss = reference::step(network_, training_, batch, step, parameters_, state_);
    if (hooks_.after_step) hooks_.after_step(parameters_);
    return hooks_.change_loss ? hooks_.change_loss(loss) : loss;
  }
  void predict(const Batch& batch, Predictions& out) override {
    if (hooks_.before_predict) hooks_.before_predict(batch);
    const Predictions more = reference::predict(network_, parameters_, batch, out.k);
    out.labels.insert(out.labels.end(), more.labels.begin(), more.labels.end());
    out.scores.insert(out.scores.end(), more.scores.begin(), more.scores.end());
    out.losses.insert(out.losses.end(), more.losses.begin(), more.losses.end());
  }
  int vectors() const override { return 1 + static_cast<int>(state_.size()); }
  // Copies in and out, as a device with its own memory does.
  FloatBuffer take(int vector) override {
    const auto& from = values(vector);
    FloatBuffer out(from.size());
    std::copy(from.begin(), from.end(), out.data());
    return out;
  }
  void give(int vector, FloatBuffer buffer) override {
    values(vector).assign(buffer.data(), buffer.data() + buffer.size());
  }

 private:
  std::vector<float>& values(int vector) {
    return vector == 0 ? parameters_ : state_.at(static_cast<std::size_t>(vector) - 1);
  }

  Network network_;
  Training training_;
  const DeviceHooks& hooks_;
  std::vector<float> parameters_;
  std::vector<std::vector<float>> state_;
};

class ReferenceDevice : public Device {
 public:
  explicit ReferenceDevice(const DeviceHooks& hooks) : hooks_(hooks) {}
  std::string name() const override { return "reference"; }
  std::unique_ptr<Replica> make_replica(const Network& network, const Training& training) override {
    return std::make_unique<ReferenceReplica>(network, training, hooks_);
  }

 private:
  const DeviceHooks& hooks_;
};

}  // namespace evener
