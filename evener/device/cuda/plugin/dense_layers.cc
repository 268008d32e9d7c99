#include "evener/device/cuda/plugin/dense_layers.h"

#include <algorithm>

namespace evener::cuda {

namespace {

cublasOperation_t operation(Form form) {
  return form == Form::plain ? CUBLAS_OP_N : CUBLAS_OP_T;
}

}  // namespace

DenseLayers::DenseLayers(Session& session) : session_(session) {
  gradient_.renew(session.limits.scratch / sizeof(float));
}

void DenseLayers::reserve(std::size_t units) {
  bias_.grow(units);
}

Matrix DenseLayers::weight(const LayerSegments& layer, std::size_t first, std::size_t units) const {
  const Segment& segment = layer.weight;
  // Including the padding, which is zero in weights and inputs.
  return {session_.parameters() + segment.offset + first * segment.stride, units, segment.stride,
          segment.stride};
}

Matrix DenseLayers::batch(const float* data, std::size_t units, std::size_t stride) const {
  return {data, session_.image().count, units, stride};
}

void DenseLayers::multiply(const Gemm& product) {
  const float one = 1;
  check(cublasSgemm(session_.libraries.blas(), operation(product.form_a), operation(product.form_b),
                    product.m, product.n, product.k, &one, product.a, product.lda, product.b,
                    product.ldb, &product.beta, product.c, product.ldc),
        "cublasSgemm");
}

void DenseLayers::forward(const LayerSegments& layer, std::size_t first, std::size_t units,
                          const Activity& in, float* sums, std::size_t stride) {
  multiply(forward_product(batch(in.values.data(), in.width, in.width), weight(layer, first, units),
                           sums, stride));
}

void DenseLayers::backward(const LayerSegments& layer, std::size_t first, std::size_t units,
                           const float* gradient, std::size_t stride, const Activity& in,
                           bool overwrite) {
  multiply(error_product(batch(gradient, units, stride), weight(layer, first, units),
                         in.error.data(), in.width, overwrite));
}

void DenseLayers::update(const LayerSegments& layer, std::size_t first, std::size_t units,
                         const float* gradient, std::size_t stride, const Activity& in,
                         const UpdateRule& rule) {
  const std::size_t width = layer.weight.stride;
  const std::size_t together = gradient_.size() / width;
  column_sums(session_.stream, gradient, stride, session_.image().count, units, bias_.data());
  for (std::size_t at = 0; at < units; at += together) {
    const std::size_t some = std::min(together, units - at);
    multiply(weight_product(batch(gradient + at, some, stride),
                            batch(in.values.data(), width, width), gradient_.data(), width));
    update_rows(session_.stream, rule, session_.all_vectors(),
                layer.weight.offset + (first + at) * width, layer.bias.offset + first + at, some,
                width, gradient_.data(), bias_.data() + at);
  }
}

}  // namespace evener::cuda
