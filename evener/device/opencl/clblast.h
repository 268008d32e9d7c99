// CLBlast's matrix product. The library is optional: it is loaded at run time if installed.
#pragma once

#include <cstddef>
#include <string>

#include "evener/device/opencl/cl.h"

namespace evener::opencl {

/// Rows of floats, `stride` floats apart, from `offset` on.
struct Matrix {
  cl_mem buffer = nullptr;
  std::size_t offset = 0, stride = 0;
};

/// c = a b + keep c, where c is m x n and a is m x k, or k x m if it is transposed.
struct Gemm {
  std::size_t m = 0, n = 0, k = 0;
  Matrix a, b, c;
  bool transposed = false;
  float keep = 0;
};

/// The file of the library, whose name has the version; empty: not installed.
std::string clblast_file();

/// Puts the product on the queue; false if CLBlast fails or is not installed.
bool clblast_gemm(const Gemm& gemm, const cl::CommandQueue& queue);

}  // namespace evener::opencl
