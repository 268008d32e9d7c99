// The row-major products of a layer, as arguments of a column-major sgemm.
#include <vector>

#include <gtest/gtest.h>

#include "evener/core/random.h"
#include "evener/device/cuda/products.h"

namespace evener::cuda {
namespace {

// sgemm as defined in cuBLAS's manual, element by element.
void sgemm(const Gemm& g) {
  const auto element = [](const float* matrix, int stride, Form form, int row, int col) {
    return form == Form::plain ? matrix[row + col * stride] : matrix[col + row * stride];
  };
  ASSERT_GE(g.lda, g.form_a == Form::plain ? g.m : g.k);
  ASSERT_GE(g.ldb, g.form_b == Form::plain ? g.k : g.n);
  ASSERT_GE(g.ldc, g.m);
  for (int col = 0; col < g.n; ++col) {
    for (int row = 0; row < g.m; ++row) {
      float sum = 0;
      for (int i = 0; i < g.k; ++i) {
        sum += element(g.a, g.lda, g.form_a, row, i) * element(g.b, g.ldb, g.form_b, i, col);
      }
      float& out = g.c[row + col * g.ldc];
      out = g.beta == 0 ? sum : sum + g.beta * out;
    }
  }
}

constexpr std::size_t kSamples = 5, kUnits = 7, kInputs = 3;
constexpr std::size_t kUnitStride = 9, kInputStride = 4;

class CudaProducts : public testing::Test {
 protected:
  std::vector<float> random_matrix(std::size_t rows, std::size_t stride) {
    std::vector<float> values(rows * stride);
    for (float& value : values) value = static_cast<float>(random_.uniform());
    return values;
  }

  Random random_{1};
  std::vector<float> in_ = random_matrix(kSamples, kInputStride);
  std::vector<float> weight_ = random_matrix(kUnits, kInputStride);
  std::vector<float> gradient_ = random_matrix(kSamples, kUnitStride);
  Matrix in() const { return {in_.data(), kSamples, kInputs, kInputStride}; }
  Matrix weight() const { return {weight_.data(), kUnits, kInputs, kInputStride}; }
  Matrix gradient() const { return {gradient_.data(), kSamples, kUnits, kUnitStride}; }
};

TEST_F(CudaProducts, Forward) {
  std::vector<float> sums(kSamples * kUnitStride, -1.0F);
  sgemm(forward_product(in(), weight(), sums.data(), kUnitStride));
  for (std::size_t s = 0; s < kSamples; ++s) {
    for (std::size_t u = 0; u < kUnitStride; ++u) {
      float want = 0;
      for (std::size_t k = 0; k < kInputs && u < kUnits; ++k) {
        want += in_[s * kInputStride + k] * weight_[u * kInputStride + k];
      }
      EXPECT_FLOAT_EQ(sums[s * kUnitStride + u], u < kUnits ? want : -1.0F);
    }
  }
}

TEST_F(CudaProducts, Error) {
  for (const bool overwrite : {true, false}) {
    std::vector<float> error(kSamples * kInputStride, 1.0F);
    sgemm(error_product(gradient(), weight(), error.data(), kInputStride, overwrite));
    for (std::size_t s = 0; s < kSamples; ++s) {
      for (std::size_t k = 0; k < kInputs; ++k) {
        float want = overwrite ? 0.0F : 1.0F;
        for (std::size_t u = 0; u < kUnits; ++u) {
          want += gradient_[s * kUnitStride + u] * weight_[u * kInputStride + k];
        }
        EXPECT_FLOAT_EQ(error[s * kInputStride + k], want);
      }
    }
  }
}

TEST_F(CudaProducts, Weights) {
  std::vector<float> out(kUnits * kInputStride);
  sgemm(weight_product(gradient(), in(), out.data(), kInputStride));
  for (std::size_t u = 0; u < kUnits; ++u) {
    for (std::size_t k = 0; k < kInputs; ++k) {
      float want = 0;
      for (std::size_t s = 0; s < kSamples; ++s) {
        want += gradient_[s * kUnitStride + u] * in_[s * kInputStride + k];
      }
      EXPECT_FLOAT_EQ(out[u * kInputStride + k], want);
    }
  }
}

}  // namespace
}  // namespace evener::cuda
