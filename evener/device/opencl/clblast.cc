#include "evener/device/opencl/clblast.h"

#include <filesystem>

#include <dlfcn.h>

namespace evener::opencl {

namespace {

// Declared as in clblast_c.h: the C interface of version 1 is stable.
constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112, kSuccess = 0;
using Sgemm = int (*)(int layout, int a_transpose, int b_transpose, std::size_t m, std::size_t n,
                      std::size_t k, float alpha, cl_mem a, std::size_t a_offset,
                      std::size_t a_stride, cl_mem b, std::size_t b_offset, std::size_t b_stride,
                      float beta, cl_mem c, std::size_t c_offset, std::size_t c_stride,
                      cl_command_queue* queue, cl_event* event);

struct Loaded {
  Sgemm sgemm = nullptr;
  std::string file;
};

/// Never unloaded: its kernels live as long as the contexts (context.cc).
Loaded load() {
  void* object = dlopen("libclblast.so.1", RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) return {};
  void* symbol = dlsym(object, "CLBlastSgemm");
  Dl_info info{};
  if (symbol == nullptr || dladdr(symbol, &info) == 0) return {};
  std::error_code ignored;
  const auto file = std::filesystem::canonical(info.dli_fname, ignored);
  if (file.empty()) return {};
  return {reinterpret_cast<Sgemm>(symbol), file.string()};
}

const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

}  // namespace

std::string clblast_file() {
  return loaded().file;
}

bool clblast_gemm(const Gemm& gemm, const cl::CommandQueue& queue) {
  if (loaded().sgemm == nullptr) return false;
  cl_command_queue on = queue();
  return loaded().sgemm(kRowMajor, gemm.transposed ? kTransposed : kPlain, kPlain, gemm.m, gemm.n,
                        gemm.k, 1.0F, gemm.a.buffer, gemm.a.offset, gemm.a.stride, gemm.b.buffer,
                        gemm.b.offset, gemm.b.stride, gemm.keep, gemm.c.buffer, gemm.c.offset,
                        gemm.c.stride, &on, nullptr) == kSuccess;
}

}  // namespace evener::opencl
