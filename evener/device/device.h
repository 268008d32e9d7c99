// Where it is computed. A device makes replicas of a model; a replica does steps.
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

/// Parts of a vector: some rows of a sparse input layer, and all that follows that layer. What a
/// few steps change.
struct Blocks {
  std::span<const std::uint32_t> rows;
  std::size_t width = 0;  // floats of a row
  std::size_t dense = 0;  // where the rest begins
};
/// Calls f(offset, floats) for each of the blocks of a vector of so many floats.
template <class F>
void for_blocks(const Blocks& blocks, std::size_t size, F f) {
  for (const std::uint32_t row : blocks.rows) f(row * blocks.width, blocks.width);
  f(blocks.dense, size - blocks.dense);
}
/// All of a vector where the network's input is not sparse, whatever the rows.
Blocks blocks_of(const Network& network, const Layout& layout, std::span<const std::uint32_t> rows);

/// A model on a device, with its optimizer state.
class Replica {
 public:
  virtual ~Replica() = default;

  /// One update as nn/training.h defines it; returns the batch's mean loss before it. Where the
  /// step after it is known, an accelerator makes that batch ready while it computes.
  virtual double step(const Batch& batch, const Step& step, const NextStep* next) = 0;
  double step(const Batch& batch, const Step& at) { return step(batch, at, nullptr); }

  /// Appends the batch's rows to `out`, whose k says how many labels to keep.
  virtual void predict(const Batch& batch, Predictions& out) = 0;

  /// Vector 0 is the parameters, 1... the optimizer's state, all in the network's layout.
  virtual int vectors() const = 0;

  /// Hands a vector over to the host, to read or to change; the replica must get it back before it
  /// does anything else. Where the device works in the host's memory nothing is copied, so that a
  /// large model exists only once.
  virtual FloatBuffer take(int vector) = 0;
  virtual void give(int vector, FloatBuffer values) = 0;

  virtual void load(int vector, std::span<const float> values);
  virtual void store(int vector, std::span<float> values);

  /// Whether it has its own memory, so that take, give, load and store copy a whole vector.
  virtual bool remote() const { return false; }
  // The blocks alone, from or to a whole vector in host memory; and blocks set to zero.
  virtual void load_blocks(int vector, const Blocks& blocks, std::span<const float> values);
  virtual void store_blocks(int vector, const Blocks& blocks, std::span<float> values);
  virtual void clear_blocks(int vector, const Blocks& blocks);

  // Merges where the replicas are. Both are false, and nothing happens, where the replicas cannot
  // reach each other; then the host does it.
  /// sum_i weights[i] * w_i of these replicas' parameters, kept where adopt_blocks finds it and
  /// copied to `values`.
  virtual bool sum_blocks(const Blocks& /*blocks*/, std::span<Replica* const> /*replicas*/,
                          std::span<const float> /*weights*/, std::span<float> /*values*/) {
    return false;
  }
  /// This replica's parameters become the sum that `owner` computed.
  virtual bool adopt_blocks(const Blocks& /*blocks*/, Replica& /*owner*/) { return false; }
};

class Device {
 public:
  virtual ~Device() = default;

  virtual std::string name() const = 0;
  /// Parameters start at zero: load them.
  virtual std::unique_ptr<Replica> make_replica(const Network& network,
                                                const Training& training) = 0;

  /// Replicas that step side by side on vectors in host memory which outlive them (parameters, then
  /// optimizer state), one per thread, without locks. None where the device has its own memory.
  virtual std::vector<std::unique_ptr<Replica>> make_in_place(const Network& /*network*/,
                                                              const Training& /*training*/,
                                                              std::span<FloatBuffer> /*shared*/) {
    return {};
  }
  /// How many replicas that would be.
  virtual int in_place_threads() const { return 0; }

  /// The most rows of a batch that its memory holds beside the model; 0: no limit of its own.
  /// DeviceError if the model alone does not fit.
  virtual std::size_t most_rows(const Network& /*network*/, const Training& /*training*/) const {
    return 0;
  }

  /// What the user should know of what it found out since this was last asked. Any thread may ask.
  virtual std::vector<std::string> take_notes() { return {}; }
};

/// One update, as nn/training.h defines it, with a gradient that was summed elsewhere (rule
/// `accumulate`). `vectors` are parameters and optimizer state; of a sparse input layer the rows
/// `features` are updated.
void apply_gradient(const Network& network, const Training& training, const Step& step,
                    std::span<FloatBuffer> vectors, std::span<float> gradient,
                    std::span<const std::uint32_t> features);

/// What multiplies the matrices of dense layers on an OpenCL card. The library is CLBlast.
enum class ProductsBy { fastest, own, library };

struct DeviceOptions {
  std::size_t memory_limit = 0;  // bytes of a device's own memory that may be used; 0: all of it
  std::string cache_directory;   // for compiled kernels; empty: none are kept
  /// For tests where there is no card: an OpenCL processor gets a card's layouts and tiles.
  bool as_card = false;
  ProductsBy products = ProductsBy::fastest;    // own and library: for tests
  std::function<void(const std::string&)> say;  // told what keeps the user waiting; may be empty
};

/// By a name that a kind of device/registry.h takes, as in "cpu:4". UsageError names what is valid.
std::unique_ptr<Device> make_device(const std::string& name, const DeviceOptions& options = {});

/// A device that runs but failed: lost, or out of its memory.
class DeviceError : public Error {
 public:
  using Error::Error;
};

}  // namespace evener
