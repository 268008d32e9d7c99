#include "evener/device/cuda/plugin/card.h"

#include <algorithm>

#include <fmt/format.h>

namespace evener::cuda {

namespace {

constexpr int kOldest = 8;  // compute capability's major number; CMakeLists.txt has the list
// Memory that cuBLAS, cuSPARSE and the driver allocate.
constexpr std::size_t kLibraries = std::size_t{192} << 20;

}  // namespace

void use(const OpenCard& card) {
  check(cudaSetDevice(card.number), "cudaSetDevice");
}

std::shared_ptr<OpenCard> open_card(int number, const DeviceOptions& options) {
  auto card = std::make_shared<OpenCard>();
  card->number = number;
  card->name = fmt::format("cuda:{}", number);
  try {
    int major = 0;
    int minor = 0;
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, number),
          "cudaDeviceGetAttribute");
    check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, number),
          "cudaDeviceGetAttribute");
    if (major < kOldest) {
      throw UsageError(
          fmt::format("device '{}': it has compute capability {}.{}, and this build needs {}.0",
                      card->name, major, minor, kOldest));
    }
    use(*card);
    std::size_t available = 0;
    std::size_t all = 0;
    check(cudaMemGetInfo(&available, &all), "cudaMemGetInfo");
    card->memory = available - std::min(available, kLibraries);
  } catch (const DeviceError& error) {
    throw DeviceError(fmt::format("{}: cannot be opened: {}", card->name, error.what()));
  }
  if (options.memory_limit > 0) card->memory = std::min(card->memory, options.memory_limit);
  return card;
}

Libraries::Libraries(const Stream& stream) {
  check(cublasCreate(&blas_), "cublasCreate");
  try {
    check(cublasSetStream(blas_, stream), "cublasSetStream");
    check(cusparseCreate(&sparse_), "cusparseCreate");
    check(cusparseSetStream(sparse_, stream), "cusparseSetStream");
  } catch (...) {
    if (sparse_ != nullptr) cusparseDestroy(sparse_);
    cublasDestroy(blas_);
    throw;
  }
}

Libraries::~Libraries() {
  cusparseDestroy(sparse_);
  cublasDestroy(blas_);
}

}  // namespace evener::cuda
