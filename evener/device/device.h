// The device interface. A device makes replicas of a model; a replica computes training steps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "evener/core/buffer.h"
#include "evener/core/error.h"
#include "evener/data/dataset.h"
#include "evener/nn/network.h"
#include "evener/nn/predictions.h"
#include "evener/nn/training.h"

namespace evener {

/// The step after the current one.
struct NextStep {
  Batch batch{};
  Step step{};
};

/// Parts of a vector: some of its sparse rows (nn/network.h), and everything after those. A few
/// steps change only these.
struct Blocks {
  std::span<const std::uint32_t> rows;
  std::size_t width = 0;  // floats per row
  std::size_t dense = 0;  // offset of the rest
};
/// Calls f(offset, floats) for each block of a vector of `size` floats.
template <class F>
void for_blocks(const Blocks& blocks, std::size_t size, F f) {
  for (const std::uint32_t row : blocks.rows) f(row * blocks.width, blocks.width);
  f(blocks.dense, size - blocks.dense);
}
/// If the network has no sparse rows, the blocks are the whole vector.
Blocks blocks_of(const Network& network, const Layout& layout, std::span<const std::uint32_t> rows);

/// A model on a device, with its optimizer state.
class Replica {
 public:
  virtual ~Replica() = default;

  /// One update as nn/training.h defines it; returns the batch's mean loss before it. If `next` is
  /// given, an accelerator prepares that batch while it computes.
  virtual double step(const Batch& batch, const Step& step, const NextStep* next) = 0;
  double step(const Batch& batch, const Step& at) { return step(batch, at, nullptr); }

  /// Appends the predictions for the batch's rows to `out`, with out.k labels each.
  virtual void predict(const Batch& batch, Predictions& out) = 0;

  /// Vector 0 is the parameters, 1... the optimizer's state, all in the network's layout.
  virtual int vectors() const = 0;

  /// Moves a vector to the host, to read or to change it. Call give() before any other function of
  /// the replica. A device that works in host memory does not copy, so that a large model exists
  /// only once.
  virtual FloatBuffer take(int vector) = 0;
  virtual void give(int vector, FloatBuffer values) = 0;

  virtual void load(int vector, std::span<const float> values);
  virtual void store(int vector, std::span<float> values);

  /// Whether it has its own memory, so that take, give, load and store copy a whole vector.
  virtual bool remote() const { return false; }
  // Copy only the blocks, from or to a whole vector in host memory; or set them to zero.
  virtual void load_blocks(int vector, const Blocks& blocks, std::span<const float> values);
  virtual void store_blocks(int vector, const Blocks& blocks, std::span<float> values);
  virtual void clear_blocks(int vector, const Blocks& blocks);

  // Merges on the devices. Both return false, and do nothing, if the replicas cannot access each
  // other; then the host merges.
  /// Computes sum_i weights[i] * w_i of these replicas' parameters, stores it for adopt_blocks, and
  /// copies it to `values`.
  virtual bool sum_blocks(const Blocks& /*blocks*/, std::span<Replica* const> /*replicas*/,
                          std::span<const float> /*weights*/, std::span<float> /*values*/) {
    return false;
  }
  /// Sets this replica's parameters to the sum that `owner` computed.
  virtual bool adopt_blocks(const Blocks& /*blocks*/, Replica& /*owner*/) { return false; }
};

class Device {
 public:
  virtual ~Device() = default;

  virtual std::string name() const = 0;
  /// The parameters of the new replica are zero.
  virtual std::unique_ptr<Replica> make_replica(const Network& network,
                                                const Training& training) = 0;

  /// Replicas that step concurrently and without locks on shared vectors in host memory
  /// (parameters, then optimizer state), one per thread. `shared` must outlive them. Empty if the
  /// device has its own memory.
  virtual std::vector<std::unique_ptr<Replica>> make_in_place(const Network& /*network*/,
                                                              const Training& /*training*/,
                                                              std::span<FloatBuffer> /*shared*/) {
    return {};
  }
  /// The number of replicas that make_in_place returns.
  virtual int in_place_threads() const { return 0; }

  /// The largest number of rows in a batch that fits into its memory next to the model; 0: no
  /// limit. DeviceError if the model alone does not fit.
  virtual std::size_t most_rows(const Network& /*network*/, const Training& /*training*/) const {
    return 0;
  }

  /// Notes for the user since the last call. Thread-safe.
  virtual std::vector<std::string> take_notes() { return {}; }
};

/// One update, as nn/training.h defines it, with a given gradient (rule `accumulate`). `vectors`
/// are parameters and optimizer state. Of the sparse rows (nn/network.h), only `rows` are updated.
void apply_gradient(const Network& network, const Training& training, const Step& step,
                    std::span<FloatBuffer> vectors, std::span<float> gradient,
                    std::span<const std::uint32_t> rows);

/// The matrix products of dense layers on an OpenCL card: our kernels or a library (CLBlast).
enum class ProductsBy { fastest, own, library };

struct DeviceOptions {
  std::size_t memory_limit = 0;  // bytes of a device's own memory that may be used; 0: all of it
  std::string cache_directory;   // for compiled kernels; empty: no cache
  /// For tests without a card: an OpenCL processor uses a card's layouts and tiles.
  bool as_card = false;
  ProductsBy products = ProductsBy::fastest;    // own and library: for tests
  std::function<void(const std::string&)> say;  // called with reasons for long waits; may be empty
};

/// Makes a device by its name (device/registry.h), such as "cpu:4". UsageError lists the valid
/// names.
std::unique_ptr<Device> make_device(const std::string& name, const DeviceOptions& options = {});

/// A failure of an open device: lost, or out of memory.
class DeviceError : public Error {
 public:
  using Error::Error;
};

}  // namespace evener
