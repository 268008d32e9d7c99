// A tiny task with structure, a run of it, and ways to interrupt the run.
#pragma once

#include <csignal>
#include <memory>
#include <string>

#include "tests/run/reference_device.h"
#include "tests/run/support.h"

#include "evener/core/random.h"
#include "evener/run/train.h"

namespace evener {

/// Label l goes with features 2l and 2l + 1; every row has one noise feature and one or two labels.
inline std::string easy_data(std::size_t rows, std::uint64_t seed) {
  constexpr std::uint32_t kLabels = 6;
  std::string text = std::to_string(rows) + " 20 6\n";
  Random random(seed);
  for (std::size_t r = 0; r < rows; ++r) {
    const auto a = static_cast<std::uint32_t>(random.below(kLabels));
    const auto b = static_cast<std::uint32_t>(random.below(kLabels));
    const auto low = std::min(a, b), high = std::max(a, b);
    text += std::to_string(low);
    if (high != low) text += "," + std::to_string(high);
    for (const auto label : low == high ? std::vector{low} : std::vector{low, high}) {
      text += " " + std::to_string(2 * label) + ":1 " + std::to_string(2 * label + 1) + ":0.5";
    }
    text += " " + std::to_string(12 + random.below(8)) + ":1\n";
  }
  return text;
}

class TrainFixture : public testing::Test {
 protected:
  TrainFixture() {
    put_contents(folder_ / "train.txt", easy_data(100, 1));
    put_contents(folder_ / "test.txt", easy_data(40, 2));
    options_.data = folder_ / "train.txt";
    options_.test = folder_ / "test.txt";
    options_.cache = false;
    options_.hidden = {8};
    options_.global_batch_size = 16;
    options_.epochs = 3;
    options_.learning_rate = 0.01;
    options_.output = folder_ / "run";
    context_.make_device = [this](const std::string& name) -> std::unique_ptr<Device> {
      if (name == "cpu") return std::make_unique<ReferenceDevice>(hooks_);
      return make_device(name);
    };
    context_.interrupted = [this] {
      return asked_++ == interrupt_at_ ? (signal_ = SIGINT) : signal_;
    };
  }

  TrainResult run(const std::string& name, long interrupt_at = -1) {
    options_.output = folder_ / name;
    options_.resume.clear();
    return start(interrupt_at);
  }
  TrainResult resume(const std::string& name, long interrupt_at = -1) {
    options_.output.clear();
    options_.resume = folder_ / name;
    return start(interrupt_at);
  }
  std::string model(const std::string& run, const std::string& which) const {
    return contents_of(folder_ / (run + "/" + which + ".safetensors"));
  }

  Folder folder_;
  TrainOptions options_;
  RunContext context_;
  DeviceHooks hooks_;
  long asked_ = 0;  // how often the loop has asked for a signal

 private:
  TrainResult start(long interrupt_at) {
    asked_ = 0;
    signal_ = 0;
    interrupt_at_ = interrupt_at;
    return train(options_, context_);
  }
  long interrupt_at_ = -1;
  int signal_ = 0;
};

}  // namespace evener
