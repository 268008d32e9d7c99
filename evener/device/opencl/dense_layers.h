// The three products of dense layers, and the update that follows the third.
#pragma once

#include "evener/device/opencl/clblast.h"
#include "evener/device/opencl/session.h"

namespace evener::opencl {

class DenseLayers {
 public:
  explicit DenseLayers(Session& session) : session_(session) {}

  /// For layers of up to `units` units at a time, with inputs up to `width` wide.
  void reserve(std::size_t units, std::size_t width);

  // Units [first, first + units) of a layer; `out`, `gradient` are columns whose unit 0 is `first`.
  void forward(const LayerSegments& layer, std::size_t first, std::size_t units, const Activity& in,
               const cl::Buffer& out, cl_uint2 to);
  /// Computes the error of `in`: replaces it if `overwrite`, else adds to it.
  void backward(const LayerSegments& layer, std::size_t first, std::size_t units,
                const cl::Buffer& gradient, cl_uint2 from, Activity& in, bool overwrite);
  void update(const LayerSegments& layer, std::size_t first, std::size_t units,
              const cl::Buffer& gradient, cl_uint2 from, const Activity& in, const Rule& rule);

 private:
  /// out = product, by the faster of two: own(out), or library(out) followed by CLBlast.
  template <class Own, class Library>
  void product(const char* name, const Gemm& gemm, const cl::Buffer& out, Own own, Library library);
  bool has_room_for(const Gemm& gemm) const;

  Session& session_;
  cl::Buffer bias_, pieces_, clips_;  // of the current units: bias gradient, norms, factors
};

}  // namespace evener::opencl
