// Fake devices for tests: they record their steps, and can fail.
#pragma once

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "evener/core/random.h"
#include "evener/device/device.h"
#include "evener/runtime/engine.h"

namespace evener {

/// Records what all replicas of a fake device did.
struct FakeLog {
  std::mutex mutex;
  std::vector<std::vector<std::uint32_t>> batches;
  std::vector<Step> steps;
  struct Hint {
    std::vector<std::uint32_t> rows;  // empty: there was none
    std::uint64_t number = 0;
  };
  std::vector<Hint> hints;     // the next step that each step received
  bool remote = false;         // like a device with its own memory
  std::size_t most_rows = 0;   // rows of the largest batch; 0: no limit
  std::uint64_t bad_step = 0;  // the step whose loss is infinite
  std::uint64_t fails_after = std::numeric_limits<std::uint64_t>::max();  // steps that succeed
  std::string failure = "the device was unplugged";
};

/// The loss of a batch is its first row's number; each step adds 1 to every parameter.
class FakeReplica final : public Replica {
 public:
  FakeReplica(const Network& network, FakeLog& log) : log_(log), values_(layout_of(network).size) {}

  double step(const Batch& batch, const Step& step, const NextStep* next) override {
    const std::lock_guard lock(log_.mutex);
    if (log_.steps.size() >= log_.fails_after) throw std::runtime_error(log_.failure);
    log_.batches.emplace_back(batch.rows.begin(), batch.rows.end());
    log_.steps.push_back(step);
    log_.hints.emplace_back();
    if (next != nullptr) {
      log_.hints.back() = {{next->batch.rows.begin(), next->batch.rows.end()}, next->step.number};
    }
    for (float& value : values_.span()) value += 1;
    return step.number == log_.bad_step ? std::numeric_limits<double>::infinity()
                                        : static_cast<double>(batch.rows.front());
  }
  void predict(const Batch&, Predictions&) override {}
  int vectors() const override { return 1; }
  bool remote() const override { return log_.remote; }
  FloatBuffer take(int) override { return std::move(values_); }
  void give(int, FloatBuffer values) override { values_ = std::move(values); }

 private:
  FakeLog& log_;
  FloatBuffer values_;
};

class FakeDevice final : public Device {
 public:
  FakeDevice(std::string name, FakeLog& log) : name_(std::move(name)), log_(log) {}
  std::string name() const override { return name_; }
  std::size_t most_rows(const Network&, const Training&) const override { return log_.most_rows; }
  std::unique_ptr<Replica> make_replica(const Network& network, const Training&) override {
    return std::make_unique<FakeReplica>(network, log_);
  }

 private:
  std::string name_;
  FakeLog& log_;
};

/// A CPU replica that behaves like one on an accelerator: the host gets copies, and only of the
/// blocks that it reads.
class RemoteReplica : public Replica {
 public:
  explicit RemoteReplica(std::unique_ptr<Replica> inside) : inside_(std::move(inside)) {}

  double step(const Batch& batch, const Step& step, const NextStep* next) override {
    return inside_->step(batch, step, next);
  }
  void predict(const Batch& batch, Predictions& out) override { inside_->predict(batch, out); }
  int vectors() const override { return inside_->vectors(); }
  FloatBuffer take(int vector) override {
    FloatBuffer values = inside_->take(vector);
    FloatBuffer copy(values.size());
    std::copy_n(values.data(), values.size(), copy.data());
    inside_->give(vector, std::move(values));
    return copy;
  }
  void give(int vector, FloatBuffer values) override { inside_->load(vector, values.span()); }
  void load(int vector, std::span<const float> values) override { inside_->load(vector, values); }
  void store(int vector, std::span<float> values) override { inside_->store(vector, values); }
  bool remote() const override { return true; }
  void load_blocks(int vector, const Blocks& blocks, std::span<const float> values) override {
    inside_->load_blocks(vector, blocks, values);
  }
  void store_blocks(int vector, const Blocks& blocks, std::span<float> values) override {
    inside_->store_blocks(vector, blocks, values);
  }
  void clear_blocks(int vector, const Blocks& blocks) override {
    inside_->clear_blocks(vector, blocks);
  }

 private:
  std::unique_ptr<Replica> inside_;
};

/// A replica that fails while it merges with others on the device.
class FailingMergeReplica final : public RemoteReplica {
 public:
  using RemoteReplica::RemoteReplica;
  bool sum_blocks(const Blocks& blocks, std::span<Replica* const> /*replicas*/,
                  std::span<const float> /*weights*/, std::span<float> values) override {
    std::fill(values.begin() + static_cast<std::ptrdiff_t>(blocks.dense), values.end(), 1e9F);
    throw DeviceError("the other device does not answer");
  }
};

template <class Kind>
class RemoteDevice final : public Device {
 public:
  std::string name() const override { return "remote"; }
  std::unique_ptr<Replica> make_replica(const Network& network, const Training& training) override {
    return std::make_unique<Kind>(cpu_->make_replica(network, training));
  }

 private:
  std::unique_ptr<Device> cpu_ = make_device("cpu:1");
};

inline std::unique_ptr<Device> make_test_device(const std::string& name) {
  if (name == "remote") return std::make_unique<RemoteDevice<RemoteReplica>>();
  if (name == "failing-merge") return std::make_unique<RemoteDevice<FailingMergeReplica>>();
  return make_device(name);
}

/// Rows with one label and a few random features, one of which predicts the label.
inline Dataset small_data(std::size_t rows, std::uint32_t features = 40,
                          std::uint32_t labels = 12) {
  CsrArrays x, y;
  Random random(3);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto label = static_cast<std::uint32_t>(random.below(labels));
    std::vector<std::uint32_t> own{label};
    for (int i = 0; i < 4; ++i) own.push_back(static_cast<std::uint32_t>(random.below(features)));
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
    for (const std::uint32_t feature : own) {
      x.indices.push_back(feature);
      x.values.push_back(feature == label ? 1.0F : 0.3F);
    }
    x.offsets.push_back(x.indices.size());
    y.indices.push_back(label);
    y.offsets.push_back(y.indices.size());
  }
  return make_dataset(std::move(x), features, std::move(y), labels);
}

inline bool go_on(const StepReport&) {
  return true;
}

}  // namespace evener
