// The kernels of the shortlist head on every instruction set of this machine, against plain loops.
#include "evener/device/cpu/shortlist_kernels.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "evener/core/buffer.h"
#include "evener/core/random.h"
#include "evener/device/vector/vector_kernels.h"

namespace evener::cpu {
namespace {

constexpr std::size_t kDense = 500;
const std::vector<std::size_t> kSizes{0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 64, 100, 257};

std::vector<float> random_values(std::size_t count, Random& random) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(2 * random.uniform() - 1);
  return values;
}

/// `count` different indices in ascending order.
std::vector<std::uint32_t> random_indices(std::size_t count, Random& random) {
  std::vector<std::uint32_t> all(kDense);
  std::iota(all.begin(), all.end(), 0U);
  random.shuffle(std::span(all));
  all.resize(count);
  std::sort(all.begin(), all.end());
  return all;
}

class ShortlistKernelsTest : public testing::TestWithParam<std::string> {
 protected:
  ShortlistKernelsTest() { use_shortlist_instruction_set(GetParam()); }
  ~ShortlistKernelsTest() override { use_shortlist_instruction_set(instruction_sets().front()); }

  const ShortlistKernels& kernels_ = shortlist_kernels();
  Random random_{7};
};

TEST_P(ShortlistKernelsTest, SparseProductsAndSums) {
  for (const std::size_t size : kSizes) {
    const auto indices = random_indices(size, random_);
    const auto values = random_values(size, random_);
    std::vector<float> dense = random_values(kDense, random_);
    double dot = 0;
    for (std::size_t i = 0; i < size; ++i) {
      dot += static_cast<double>(values[i]) * static_cast<double>(dense[indices[i]]);
    }
    EXPECT_NEAR(kernels_.sparse_dot(indices.data(), values.data(), size, dense.data()), dot, 1e-5);
    std::vector<float> sum = dense;
    for (std::size_t i = 0; i < size; ++i) sum[indices[i]] += 0.3F * values[i];
    kernels_.sparse_add(indices.data(), values.data(), size, 0.3F, dense.data());
    for (std::size_t i = 0; i < kDense; ++i) EXPECT_NEAR(dense[i], sum[i], 1e-6);
  }
}

TEST_P(ShortlistKernelsTest, ValuesAboveAThreshold) {
  for (const std::size_t size : kSizes) {
    std::vector<float> values = random_values(size, random_);
    if (size > 2) values[size - 2] = 0.25F;  // not above
    std::vector<std::uint32_t> expected, found(size + 1, 12345);
    for (std::size_t i = 0; i < size; ++i) {
      if (values[i] > 0.25F) expected.push_back(static_cast<std::uint32_t>(i));
    }
    const std::size_t count = kernels_.above(values.data(), size, 0.25F, found.data());
    EXPECT_EQ(found.back(), 12345U) << "wrote behind the end";
    found.resize(count);
    EXPECT_EQ(found, expected);
  }
}

TEST_P(ShortlistKernelsTest, CellsOfFour) {
  for (const std::size_t size : kSizes) {
    auto labels = random_indices(size, random_);
    random_.shuffle(std::span(labels));
    const auto sums = random_values(size, random_);
    std::vector<float> cells = random_values(4 * kDense, random_);
    for (std::size_t cell = 0; cell < kDense; cell += 3) cells[4 * cell + 2] = 0;
    const std::array<float, 4> factor{0.5F, 0, 2, 0}, constant{0, 0.25F, 0, 3};
    std::vector<float> expected = cells;
    std::vector<std::uint32_t> first, touched(size + 1, 12345);
    for (std::size_t i = 0; i < size; ++i) {
      float* cell = expected.data() + std::size_t{4} * labels[i];
      if (cell[2] == 0) first.push_back(labels[i]);
      for (std::size_t j = 0; j < 4; ++j) cell[j] += sums[i] * factor[j] + constant[j];
    }
    const std::size_t count = kernels_.add_cells(labels.data(), sums.data(), size, factor.data(),
                                                 constant.data(), cells.data(), touched.data());
    EXPECT_EQ(touched.back(), 12345U) << "wrote behind the end";
    touched.resize(count);
    EXPECT_EQ(touched, first);
    for (std::size_t i = 0; i < cells.size(); ++i) EXPECT_NEAR(cells[i], expected[i], 1e-5);
  }
}

TEST_P(ShortlistKernelsTest, RowsOfVectors) {
  for (std::size_t width = kVectorMultiple; width <= 4 * kVectorMultiple;
       width += kVectorMultiple) {
    FloatBuffer a(width), b(width);
    for (std::size_t i = 0; i < width; ++i) {
      a[i] = static_cast<float>(2 * random_.uniform() - 1);
      b[i] = static_cast<float>(2 * random_.uniform() - 1);
    }
    double dot = 0;
    for (std::size_t i = 0; i < width; ++i) {
      dot += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    }
    EXPECT_NEAR(kernels_.dot(a.data(), b.data(), width), dot, 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, ShortlistKernelsTest,
                         testing::ValuesIn(instruction_sets()),
                         [](const auto& set) { return set.param; });

}  // namespace
}  // namespace evener::cpu
