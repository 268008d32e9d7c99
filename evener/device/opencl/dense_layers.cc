#include "evener/device/opencl/dense_layers.h"

namespace evener::opencl {

namespace {

std::size_t blocks_of(std::size_t units, const Tiling& tiling) {
  const std::size_t block = std::size_t{tiling.tile} * tiling.block;
  return (units + block - 1) / block;
}

}  // namespace

void DenseLayers::reserve(std::size_t units, std::size_t width) {
  bias_ = make_buffer(*session_.context, units);
  clips_ = make_buffer(*session_.context, units);
  const std::size_t pieces = session_.training.clip > 0 ? units * (width / session_.panel) : 1;
  pieces_ = make_buffer(*session_.context, pieces);
}

void DenseLayers::forward(const LayerSegments& layer, std::size_t first, std::size_t units,
                          const Activity& in, const cl::Buffer& out, cl_uint2 to) {
  session_.program.run(
      "forward", session_.groups(), blocks_of(units, session_.program.tiling()),
      session_.parameters(), place(layer.weight.offset + first * layer.weight.stride),
      place(layer.bias.offset + first), word(layer.weight.stride), word(in.units), word(units),
      in.columns, session_.columns_of(in.width), word(session_.groups()), out, to);
}

void DenseLayers::backward(const LayerSegments& layer, std::size_t first, std::size_t units,
                           const cl::Buffer& gradient, cl_uint2 from, Activity& in, bool anew) {
  session_.program.run("backward", session_.groups(), in.width / session_.program.tiling().tile,
                       session_.parameters(),
                       place(layer.weight.offset + first * layer.weight.stride), word(in.width),
                       word(units), gradient, from, word(session_.groups()), in.error,
                       session_.columns_of(in.width), word(anew ? 1 : 0));
}

void DenseLayers::update(const LayerSegments& layer, std::size_t first, std::size_t units,
                         const cl::Buffer& gradient, cl_uint2 from, const Activity& in,
                         const Rule& rule) {
  Program& program = session_.program;
  const cl_uint groups = word(session_.groups());
  const std::size_t panels = in.width / session_.panel;
  const auto walk = [&](bool norms) {
    program.run("gradient_update", panels, blocks_of(units, program.tiling()),
                session_.parameters(), session_.state(1), session_.state(2),
                place(layer.weight.offset + first * layer.weight.stride), word(in.width),
                word(units), gradient, from, in.rows, session_.rows_of(in.width), groups, rule,
                pieces_, clips_, word(norms ? 1 : 0));
  };
  program.run("bias_gradient", units, 1, gradient, from, word(units), groups, bias_);
  if (rule.clip > 0) {
    walk(true);
    program.run("clip_factors", units, 1, pieces_, word(panels), bias_, word(units), rule.clip,
                clips_);
  }
  walk(false);
  program.run("bias_update", units, 1, session_.parameters(), session_.state(1), session_.state(2),
              place(layer.bias.offset + first), word(units), bias_, rule, clips_);
}

}  // namespace evener::opencl
