#include "evener/device/opencl/dense_layers.h"

#include "evener/device/opencl/products.h"

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

/// On a card, the columns layout is plain rows of `y` floats, which a library can multiply.
template <class Own, class Library>
void DenseLayers::product(const char* name, const Gemm& gemm, const cl::Buffer& out, Own own,
                          Library library) {
  const Context& context = *session_.context;
  if (!context.products) return own(out);
  const ProductShape shape{name, gemm.m, gemm.n, gemm.k};
  cl::Buffer trial;  // output of measurements
  const auto into_trial = [&](auto work) {
    return [&, work] {
      if (trial() == nullptr) trial = make_buffer(context, gemm.m * gemm.c.stride);
      return work(trial);
    };
  };
  const auto own_too = [&](const cl::Buffer& to) {
    own(to);
    return true;
  };
  const auto theirs = [&](const cl::Buffer& to) {
    Gemm at = gemm;
    at.c.buffer = to();
    before_call("product");
    library(to);
    return clblast_gemm(at, context.queue);
  };
  if (!has_room_for(gemm) ||
      !context.products->by_library(shape, into_trial(own_too), into_trial(theirs),
                                    [&] { finish(context); })) {
    return own(out);
  }
  if (theirs(out)) return;
  context.products->give_up(shape);
  own(out);
}

/// CLBlast copies matrices to pad them.
bool DenseLayers::has_room_for(const Gemm& gemm) const {
  const std::size_t floats = gemm.m * gemm.k + gemm.k * gemm.n + 2 * gemm.m * gemm.n;
  return session_.footprint.has_room_for(2 * floats * sizeof(float));
}

void DenseLayers::forward(const LayerSegments& layer, std::size_t first, std::size_t units,
                          const Activity& in, const cl::Buffer& out, cl_uint2 to) {
  const std::size_t weights = layer.weight.offset + first * layer.weight.stride;
  const cl_ulong biases = offset64(layer.bias.offset + first);
  const cl_uint2 from = session_.columns_of(in.width);
  const cl_uint groups = word(session_.groups());
  const Gemm gemm{.m = units,
                  .n = groups * session_.panel,
                  .k = in.units,
                  .a = {session_.parameters()(), weights, layer.weight.stride},
                  .b = {in.columns(), 0, from.s[1]},
                  .c = {out(), 0, to.s[1]},
                  .keep = 1};
  product(
      "forward", gemm, out,
      [&](const cl::Buffer& z) {
        session_.program.run("forward", groups, blocks_of(units, session_.program.tiling()),
                             session_.parameters(), offset64(weights), biases,
                             word(layer.weight.stride), word(in.units), word(units), in.columns,
                             from, groups, z, to);
      },
      [&](const cl::Buffer& z) {
        session_.program.run("fill_biases", groups, units, session_.parameters(), biases,
                             word(units), groups, z, to);
      });
}

void DenseLayers::backward(const LayerSegments& layer, std::size_t first, std::size_t units,
                           const cl::Buffer& gradient, cl_uint2 from, Activity& in,
                           bool overwrite) {
  const std::size_t weights = layer.weight.offset + first * layer.weight.stride;
  const cl_uint2 to = session_.columns_of(in.width);
  const cl_uint groups = word(session_.groups());
  const Gemm gemm{.m = in.width,
                  .n = groups * session_.panel,
                  .k = units,
                  .a = {session_.parameters()(), weights, in.width},
                  .b = {gradient(), 0, from.s[1]},
                  .c = {in.error(), 0, to.s[1]},
                  .transposed = true,
                  .keep = overwrite ? 0.0F : 1.0F};
  product(
      "backward", gemm, in.error,
      [&](const cl::Buffer& error) {
        session_.program.run("backward", groups, in.width / session_.program.tiling().tile,
                             session_.parameters(), offset64(weights), word(in.width), word(units),
                             gradient, from, groups, error, to, word(overwrite ? 1 : 0));
      },
      [](const cl::Buffer&) {});
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
                offset64(layer.weight.offset + first * layer.weight.stride), word(in.width),
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
              offset64(layer.bias.offset + first), word(units), bias_, rule, clips_);
}

}  // namespace evener::opencl
