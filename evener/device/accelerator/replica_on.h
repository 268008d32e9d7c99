// A replica on a device with its own memory: the order of a step, which all such devices share. A
// Backend has the memory and kernels of one kind of device.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "evener/device/accelerator/footprint.h"
#include "evener/device/accelerator/output_layer.h"
#include "evener/device/accelerator/row_copies.h"
#include "evener/device/device.h"

namespace evener::accelerator {

/// Backend:
///   Activity                          a layer's outputs and the gradient at them, on the
///                                     device; first members: units and width (padded units)
///   OutputKernels, Rows               see output_layer.h and row_copies.h
///   session                           network, training, layout, footprint; `capacity`: samples
///                                     that fit into memory; begin and prepare
///                                     (batch_slots.h), image(); flush(): starts the queue;
///                                     wait(): waits for it; drain(): waits, ignoring errors
///   dense                             the products and updates of dense layers
///   named(what, work)                 work(); an error names `what`
///   vectors(), vector(i)              parameters and optimizer state
///   rule(step)                        the constants of an update
///   reserve(activities)               memory for session.capacity samples
///   reserve_dense(units, width)       memory for layers of this many units and inputs
///   scatter_input(out)                dense input: the features themselves
///   gather_input(out)                 sparse input: the first layer's sums
///   forward(layer, in, out)           a dense layer's sums
///   activate(layer, out, step)        activation and dropout
///   derive(layer, out, step)          their derivative
///   backward(layer, at, in), update(layer, at, in, rule)
///   update_input(first, rule)         sparse input: the rows of the batch's features
template <class Backend>
class ReplicaOn : public Replica {
 public:
  using Replica::step;
  double step(const Batch& batch, const Step& step, const NextStep* next) override {
    return guarded("training step", [&] {
      const auto rule = backend_.rule(step);
      session().begin(batch, step, true);
      reserve();
      forward(step);
      const bool wants_error = activities_.size() > 1 || sparse() == 1;
      output_.train(activities_.back(), rule, wants_error);
      backward(step, rule);
      output_.read_losses();
      session().flush();
      if (next != nullptr) session().prepare(next->batch, next->step);
      session().wait();
      return output_.total_loss(session().image()) / static_cast<double>(batch.rows.size());
    });
  }

  void predict(const Batch& batch, Predictions& out) override {
    const Step no_step{.number = 0};
    session().footprint.in_pieces(batch, [&](const Batch& piece) {
      guarded("prediction", [&] {
        session().begin(piece, no_step, false);
        reserve();
        forward(no_step);
        output_.search(activities_.back(), out.k);
        output_.read_losses();
        output_.read_best();
        session().wait();
      });
      output_.append(session().image(), out);
    });
  }

  int vectors() const override { return static_cast<int>(backend_.vectors()); }
  FloatBuffer take(int vector) override {
    FloatBuffer values(backend_.session.layout.size);
    store(vector, values.span());
    return values;
  }
  void give(int vector, FloatBuffer values) override { load(vector, values.span()); }
  void load(int vector, std::span<const float> values) override {
    assert(values.size() == session().layout.size);
    guarded("loading the model", [&] {
      copies_.rows().write(vector_at(vector), 0, values);
      session().wait();
    });
  }
  void store(int vector, std::span<float> values) override {
    assert(values.size() == session().layout.size);
    guarded("reading the model", [&] {
      copies_.rows().read(vector_at(vector), 0, values);
      session().wait();
    });
  }
  bool remote() const override { return true; }
  void load_blocks(int vector, const Blocks& blocks, std::span<const float> values) override {
    guarded("loading rows", [&] { copies_.load(vector_at(vector), blocks, values); });
  }
  void store_blocks(int vector, const Blocks& blocks, std::span<float> values) override {
    guarded("reading rows", [&] { copies_.store(vector_at(vector), blocks, values); });
  }
  void clear_blocks(int vector, const Blocks& blocks) override {
    guarded("clearing rows", [&] { copies_.clear(vector_at(vector), blocks); });
  }

 protected:
  using Activity = typename Backend::Activity;
  using Vector = typename Backend::Rows::Vector;

  template <class... Arguments>
  explicit ReplicaOn(Arguments&&... arguments)
      : backend_(std::forward<Arguments>(arguments)...),
        output_(backend_.session, backend_.dense),
        copies_(backend_.session) {
    const Network& network = backend_.session.network;
    if (network.listed_output()) throw Error("a listed output has no kernels for accelerators yet");
    if (!network.sparse_input()) add_activity(network.features);
    for (const std::uint32_t units : network.hidden) add_activity(units);
  }

  auto& session() { return backend_.session; }
  Vector vector_at(int i) const { return backend_.vector(static_cast<std::size_t>(i)); }

  /// Wraps every use of the device. On failure, waits for copies in progress, because their host
  /// memory may be freed next.
  template <class F>
  std::invoke_result_t<F> guarded(const char* what, F work) {
    try {
      return backend_.named(what, std::move(work));
    } catch (...) {
      session().drain();
      throw;
    }
  }

  Backend backend_;
  OutputLayer<typename Backend::OutputKernels> output_;
  RowCopies<typename Backend::Rows> copies_;

 private:
  /// 1 where layer 0 of the network is sparse: activity i is then the output of layer i.
  std::size_t sparse() const { return backend_.session.network.sparse_input() ? 1 : 0; }

  void add_activity(std::size_t units) {
    Activity activity;
    activity.units = units;
    activity.width = padded(units);
    activities_.push_back(std::move(activity));
  }

  void reserve() {
    if (session().image().samples > session().capacity) {
      session().capacity = session().image().samples;
      try {
        allocate();
      } catch (...) {
        session().capacity = 0;  // partly allocated: the next batch must reserve again
        throw;
      }
    }
    output_.begin();
  }

  void allocate() {
    backend_.reserve(activities_);
    output_.reserve(session().capacity);
    std::size_t widest = 0;
    for (const Activity& activity : activities_) widest = std::max(widest, activity.width);
    backend_.reserve_dense(std::max(output_.chunk_labels(), widest), widest);
  }

  void forward(const Step& step) {
    if (sparse() == 0) {
      backend_.scatter_input(activities_.front());
    } else {
      backend_.gather_input(activities_.front());
      backend_.activate(0, activities_.front(), step);
    }
    for (std::size_t i = 0; i + 1 < activities_.size(); ++i) {
      const std::size_t layer = i + sparse();
      backend_.forward(layer, activities_[i], activities_[i + 1]);
      backend_.activate(layer, activities_[i + 1], step);
    }
  }

  /// The layers below the output layer, which has set the error of the last activity.
  template <class Rule>
  void backward(const Step& step, const Rule& rule) {
    for (std::size_t i = activities_.size() - 1; i > 0; --i) {
      const std::size_t layer = i - 1 + sparse();
      backend_.derive(layer, activities_[i], step);
      const bool is_input = i == 1 && sparse() == 0;  // the features need no error
      if (!is_input) backend_.backward(layer, activities_[i], activities_[i - 1]);
      backend_.update(layer, activities_[i], activities_[i - 1], rule);
    }
    if (sparse() == 0) return;
    backend_.derive(0, activities_.front(), step);
    backend_.update_input(activities_.front(), rule);
  }

  // Activity i is the input of dense layer i: with sparse input, activity 0 is the first hidden
  // layer's; with dense input it is the features themselves.
  std::vector<Activity> activities_;
};

}  // namespace evener::accelerator
