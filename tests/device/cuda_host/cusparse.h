// The part of cuSPARSE that evener/device/cuda/plugin calls, on the host.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

enum cusparseStatus_t {
  CUSPARSE_STATUS_SUCCESS = 0,
  CUSPARSE_STATUS_ALLOC_FAILED = 2,
  CUSPARSE_STATUS_INVALID_VALUE = 3
};
enum cusparseSpMMAlg_t { CUSPARSE_SPMM_CSR_ALG3 = 12 };
enum cusparseOperation_t { CUSPARSE_OPERATION_NON_TRANSPOSE };
enum cusparseIndexType_t { CUSPARSE_INDEX_32I };
enum cusparseIndexBase_t { CUSPARSE_INDEX_BASE_ZERO };
enum cusparseOrder_t { CUSPARSE_ORDER_ROW };
enum cudaDataType { CUDA_R_32F };
using cusparseHandle_t = struct EmulatedSparse*;
using cusparseSpMatDescr_t = struct EmulatedCsr*;
using cusparseDnMatDescr_t = struct EmulatedDense*;

const char* cusparseGetErrorString(cusparseStatus_t status);
cusparseStatus_t cusparseCreate(cusparseHandle_t* handle);
cusparseStatus_t cusparseDestroy(cusparseHandle_t handle);
cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream);
cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t* matrix, std::int64_t rows,
                                   std::int64_t cols, std::int64_t nonzeros, void* offsets,
                                   void* indices, void* values, cusparseIndexType_t offset_type,
                                   cusparseIndexType_t index_type, cusparseIndexBase_t base,
                                   cudaDataType type);
cusparseStatus_t cusparseDestroySpMat(cusparseSpMatDescr_t matrix);
cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t* matrix, std::int64_t rows,
                                     std::int64_t cols, std::int64_t stride, void* values,
                                     cudaDataType type, cusparseOrder_t order);
cusparseStatus_t cusparseDestroyDnMat(cusparseDnMatDescr_t matrix);
cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t form_a,
                                         cusparseOperation_t form_b, const void* alpha,
                                         cusparseSpMatDescr_t a, cusparseDnMatDescr_t b,
                                         const void* beta, cusparseDnMatDescr_t c,
                                         cudaDataType type, cusparseSpMMAlg_t algorithm,
                                         std::size_t* bytes);
cusparseStatus_t cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t form_a,
                              cusparseOperation_t form_b, const void* alpha, cusparseSpMatDescr_t a,
                              cusparseDnMatDescr_t b, const void* beta, cusparseDnMatDescr_t c,
                              cudaDataType type, cusparseSpMMAlg_t algorithm, void* workspace);
