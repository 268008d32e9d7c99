// Devices that remember what they were asked, and can fail.
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

/// What all replicas of a fake device did.
struct FakeLog {
  std::mutex mutex;
  std::vector<std::vector<std::uint32_t>> batches;
  std::vector<Step> steps;
  std::uint64_t bad_step = 0;                                             // its loss is infinite
  std::uint64_t fails_after = std::numeric_limits<std::uint64_t>::max();  // steps that succeed
};

/// The loss of a batch is its first row's number; each step adds 1 to every parameter.
class FakeReplica final : public Replica {
 public:
  FakeReplica(const Network& network, FakeLog& log) : log_(log), values_(layout_of(network).size) {}

  double step(const Batch& batch, const Step& step, const NextStep* /*next*/) override {
    const std::lock_guard lock(log_.mutex);
    if (log_.steps.size() >= log_.fails_after) throw std::runtime_error("the card fell off");
    log_.batches.emplace_back(batch.rows.begin(), batch.rows.end());
    log_.steps.push_back(step);
    for (float& value : values_.span()) value += 1;
    return step.number == log_.bad_step ? std::numeric_limits<double>::infinity()
                                        : static_cast<double>(batch.rows.front());
  }
  void predict(const Batch&, Predictions&) override {}
  int vectors() const override { return 1; }
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
  std::unique_ptr<Replica> make_replica(const Network& network, const Training&) override {
    return std::make_unique<FakeReplica>(network, log_);
  }

 private:
  std::string name_;
  FakeLog& log_;
};

/// Rows with a few random features and labels; label and features go together.
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
