// The operations of a step on an OpenCL device, layer by layer; accelerator/replica_on.h has their
// order.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "evener/device/opencl/dense_layers.h"
#include "evener/device/opencl/output_kernels.h"
#include "evener/device/opencl/packed_rows.h"
#include "evener/device/opencl/session.h"

namespace evener::opencl {

class Layers {
 public:
  using Activity = opencl::Activity;
  using OutputKernels = opencl::OutputKernels;
  using Rows = PackedRows;

  Layers(std::shared_ptr<Context> context, const Network& network, const Training& training,
         const std::string& cache_directory)
      : session(std::move(context), network, training, cache_directory), dense(session) {}

  template <class F>
  std::invoke_result_t<F> named(const char* what, F work) const {
    try {
      return work();
    } catch (const cl::Error& error) {
      fail(session.context->name, what, error);
    }
  }

  std::size_t vectors() const { return session.vectors.size(); }
  const cl::Buffer& vector(std::size_t i) const { return session.vectors.at(i); }
  Rule rule(const Step& step) const { return rule_for(update_rule(session.training, step)); }

  void reserve(std::vector<Activity>& activities);
  void reserve_dense(std::size_t units, std::size_t width) { dense.reserve(units, width); }

  void scatter_input(Activity& out);
  void gather_input(Activity& out);
  void forward(std::size_t layer, const Activity& in, Activity& out);
  void activate(std::size_t layer, Activity& out, const Step& step);
  void derive(std::size_t layer, Activity& out, const Step& step);
  void backward(std::size_t layer, const Activity& at, Activity& in);
  void update(std::size_t layer, const Activity& at, const Activity& in, const Rule& rule);
  void update_input(const Activity& first, const Rule& rule);

  Session session;
  DenseLayers dense;

 private:
  void fill_rows(Activity& activity);
  cl_uint activation() const { return static_cast<cl_uint>(session.network.activation); }

  cl::Buffer plain_;  // a sparse first layer's sums, later its errors, as rows
};

}  // namespace evener::opencl
