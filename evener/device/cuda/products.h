// Products of row-major matrices with a column-major BLAS. Read by columns, a row-major matrix is
// its transpose, so C = A B is computed as C' = B' A'.
#pragma once

#include <cassert>
#include <cstddef>
#include <limits>

namespace evener::cuda {

/// Row r starts at data + r * stride.
struct Matrix {
  const float* data;
  std::size_t rows, cols, stride;
};

enum class Form { plain, transposed };

/// The (column-major) arguments of sgemm: c[m x n] = op(a)[m x k] op(b)[k x n] + beta
/// c.
struct Gemm {
  Form form_a, form_b;
  int m, n, k;
  const float* a;
  int lda;
  const float* b;
  int ldb;
  float beta;
  float* c;
  int ldc;
};

inline int blas_int(std::size_t value) {
  assert(value <= static_cast<std::size_t>(std::numeric_limits<int>::max()));
  return static_cast<int>(value);
}

/// c = op(a) op(b) + beta c, with row-major matrices.
inline Gemm row_major(Matrix a, Form form_a, Matrix b, Form form_b, float* c, std::size_t c_stride,
                      float beta) {
  const bool plain_a = form_a == Form::plain;
  const bool plain_b = form_b == Form::plain;
  const std::size_t rows = plain_a ? a.rows : a.cols;
  const std::size_t inner = plain_a ? a.cols : a.rows;
  const std::size_t cols = plain_b ? b.cols : b.rows;
  assert(inner == (plain_b ? b.rows : b.cols));
  return {form_b,
          form_a,
          blas_int(cols),
          blas_int(rows),
          blas_int(inner),
          b.data,
          blas_int(b.stride),
          a.data,
          blas_int(a.stride),
          beta,
          c,
          blas_int(c_stride)};
}

// The three products of a layer. `weight` has one row per unit; `in`, `sums`, `gradient` and
// `error` have one row per sample.

/// sums = in weight'
inline Gemm forward_product(Matrix in, Matrix weight, float* sums, std::size_t stride) {
  return row_major(in, Form::plain, weight, Form::transposed, sums, stride, 0);
}
/// error (+)= gradient weight
inline Gemm error_product(Matrix gradient, Matrix weight, float* error, std::size_t stride,
                          bool overwrite) {
  return row_major(gradient, Form::plain, weight, Form::plain, error, stride,
                   overwrite ? 0.0F : 1.0F);
}
/// out = gradient' in: the gradient of the weights.
inline Gemm weight_product(Matrix gradient, Matrix in, float* out, std::size_t stride) {
  return row_major(gradient, Form::transposed, in, Form::plain, out, stride, 0);
}

}  // namespace evener::cuda
