// Every operation of a device, in one table: its check against the reference (conformance_test.cc)
// and its benchmark (bench/devices.cc).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "evener/data/dataset.h"
#include "evener/device/device.h"

namespace evener {

/// The workload of benchmarks: real rows, and a network of matching width.
struct Workload {
  const Dataset* data = nullptr;
  std::vector<std::uint32_t> rows;  // in the order they are trained on
  std::vector<std::uint32_t> hidden;
  std::size_t batch = 256;
};

/// Runs an operation once. Empty if the device leaves it to the host.
using Timed = std::function<void()>;

struct Operation {
  std::string name;
  /// Draws a case and checks the device (of devices_here()) against the reference; called in the
  /// body of a RapidCheck property.
  std::function<void(const std::string& device)> check;
  /// Prepares the operation. Device and workload must outlive the result.
  std::function<Timed(const Workload& workload, Device& device)> prepare;
};

std::vector<Operation> operations();

/// A replica for benchmarks.
struct Rig {
  Rig(const Workload& workload, Device& device, Loss loss = Loss::softmax,
      Optimizer optimizer = Optimizer::adam, Input input = Input::sparse);

  Batch batch(std::size_t index) const;
  /// The blocks that one batch changes.
  Blocks blocks() const { return blocks_of(network, layout, touched); }

  const Workload& workload;
  Network network;
  Layout layout;
  std::vector<float> values;           // the parameters it was loaded with
  std::vector<std::uint32_t> touched;  // features of batch 0
  std::unique_ptr<Replica> replica;
  std::uint64_t steps = 0;
};

// The table's parts, a file each.
void add_steps(std::vector<Operation>& table);
void add_copies(std::vector<Operation>& table);

}  // namespace evener
