// The operations of a step on a card, layer by layer; accelerator/replica_on.h has their order.
#pragma once

#include <memory>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "evener/device/cuda/plugin/dense_layers.h"
#include "evener/device/cuda/plugin/input_layer.h"
#include "evener/device/cuda/plugin/output_kernels.h"
#include "evener/device/cuda/plugin/packed_rows.h"
#include "evener/device/cuda/plugin/session.h"

namespace evener::cuda {

/// Calls work() with this card selected; an error names `what` and the card.
template <class F>
std::invoke_result_t<F> named_on(const OpenCard& card, const char* what, F work) {
  try {
    use(card);
    return work();
  } catch (const DeviceError& error) {
    throw DeviceError(fmt::format("{}: {}: {}", card.name, what, error.what()));
  }
}

class Layers {
 public:
  using Activity = cuda::Activity;
  using OutputKernels = cuda::OutputKernels;
  using Rows = PackedRows;

  Layers(std::shared_ptr<OpenCard> card, const Network& network, const Training& training)
      : session(std::move(card), network, training), dense(session), input_(session) {}

  template <class F>
  std::invoke_result_t<F> named(const char* what, F work) const {
    return named_on(*session.card, what, std::move(work));
  }

  std::size_t vectors() const { return session.vectors.size(); }
  float* vector(std::size_t i) const { return session.vectors.at(i).data(); }
  UpdateRule rule(const Step& step) const { return update_rule(session.training, step); }

  void reserve(std::vector<Activity>& activities);
  void reserve_dense(std::size_t units, std::size_t /*width*/) { dense.reserve(units); }

  void scatter_input(Activity& out) { input_.scatter_to(out); }
  void gather_input(Activity& out) { input_.multiply(out); }
  void forward(std::size_t layer, const Activity& in, Activity& out);
  void activate(std::size_t layer, Activity& out, const Step& step);
  void derive(std::size_t layer, Activity& out, const Step& step);
  void backward(std::size_t layer, const Activity& at, const Activity& in);
  void update(std::size_t layer, const Activity& at, const Activity& in, const UpdateRule& rule);
  void update_input(const Activity& first, const UpdateRule& rule) { input_.update(first, rule); }

  Session session;
  DenseLayers dense;

 private:
  InputLayer input_;
};

}  // namespace evener::cuda
