// A tiny task with structure, a run of it, and ways to interrupt the run.
#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <string>

#include "tests/run/devices/reference_device.h"
#include "tests/run/session/easy_data.h"
#include "tests/run/support.h"

#include "evener/run/session/backends.h"
#include "evener/run/session/train.h"

namespace evener {

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
    options_.reference_batch = 16;
    options_.decay = "constant";
    options_.dropout = 0;
    options_.output = folder_ / "run";
    context_.devices.make = [this](const std::string& name,
                                   const DeviceOptions& options) -> std::unique_ptr<Device> {
      if (name == "cpu") return std::make_unique<ReferenceDevice>(hooks_);
      return make_device(name, options);
    };
    context_.interrupted = [this] {
      return asked_++ == interrupt_at_ ? (signal_ = SIGINT) : signal_;
    };
  }

  /// Interrupts the run from inside, as Ctrl-C does.
  void send_signal() { signal_ = SIGINT; }
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
  std::function<std::unique_ptr<Backend>()> make_backend_ = make_local_backend;
  DeviceHooks hooks_;
  long asked_ = 0;  // number of checks for a signal

 private:
  TrainResult start(long interrupt_at) {
    asked_ = 0;
    signal_ = 0;
    interrupt_at_ = interrupt_at;
    return train(options_, *make_backend_(), context_);
  }
  long interrupt_at_ = -1;
  int signal_ = 0;
};

}  // namespace evener
