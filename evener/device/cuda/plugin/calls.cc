#include "evener/device/cuda/plugin/calls.h"

#include <fmt/format.h>

#include "evener/device/device.h"

namespace evener::cuda {

namespace {

[[noreturn]] void fail(const char* call, const char* reason, int code) {
  throw DeviceError(fmt::format("{}: {} ({})", call, reason, code));
}

}  // namespace

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears the error, else the next launch would report it
  if (status == cudaErrorMemoryAllocation) fail(call, "no device memory", status);
  fail(call, cudaGetErrorString(status), status);
}

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  if (status == CUBLAS_STATUS_ALLOC_FAILED) fail(call, "no device memory", status);
  fail(call, cublasGetStatusString(status), status);
}

void check(cusparseStatus_t status, const char* call) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  if (status == CUSPARSE_STATUS_ALLOC_FAILED) fail(call, "no device memory", status);
  fail(call, cusparseGetErrorString(status), status);
}

}  // namespace evener::cuda
