// Errors of calls to CUDA and its libraries.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusparse.h>

namespace evener::cuda {

// Throw DeviceError, with the call and the reason, if a call failed.
void check(cudaError_t status, const char* call);
void check(cublasStatus_t status, const char* call);
void check(cusparseStatus_t status, const char* call);

}  // namespace evener::cuda
