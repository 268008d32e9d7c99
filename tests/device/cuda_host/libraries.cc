// cuBLAS and cuSPARSE of the emulated card.
#include <algorithm>
#include <vector>

#include <cublas_v2.h>
#include <cusparse.h>

struct EmulatedBlas {
  cudaStream_t stream = nullptr;
};
struct EmulatedSparse {
  cudaStream_t stream = nullptr;
};
struct EmulatedCsr {
  std::int64_t rows, cols, nonzeros;
  const std::int32_t* offsets;
  const std::int32_t* indices;
  const float* values;
};
struct EmulatedDense {
  std::int64_t rows, cols, stride;
  float* values;
};

const char* cublasGetStatusString(cublasStatus_t /*status*/) {
  return "an error";
}
cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = new EmulatedBlas;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

// The checks follow the library's manual.
cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t form_a,
                           cublasOperation_t form_b, int m, int n, int k, const float* alpha,
                           const float* a, int lda, const float* b, int ldb, const float* beta,
                           float* c, int ldc) {
  const bool plain_a = form_a == CUBLAS_OP_N, plain_b = form_b == CUBLAS_OP_N;
  if (m < 0 || n < 0 || k < 0 || lda < (plain_a ? m : k) || ldb < (plain_b ? k : n) || ldc < m) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const float scale = *alpha, keep = *beta;
  emulated::enqueue(handle->stream, [=] {
    // From one row of op(a), and one column of op(b), to the next.
    const long row_a = plain_a ? 1 : lda, col_b = plain_b ? ldb : 1;
    const long col_a = plain_a ? lda : 1, row_b = plain_b ? 1 : ldb;
    std::vector<float> sums(static_cast<std::size_t>(m));
    for (long j = 0; j < n; ++j) {
      std::fill(sums.begin(), sums.end(), 0.0F);
      for (long l = 0; l < k; ++l) {
        const float factor = b[l * row_b + j * col_b];
        for (long i = 0; i < m; ++i) sums[i] += a[i * row_a + l * col_a] * factor;
      }
      for (long i = 0; i < m; ++i) {
        float& out = c[i + j * ldc];
        out = keep == 0 ? scale * sums[i] : scale * sums[i] + keep * out;
      }
    }
  });
  return CUBLAS_STATUS_SUCCESS;
}

const char* cusparseGetErrorString(cusparseStatus_t /*status*/) {
  return "an error";
}
cusparseStatus_t cusparseCreate(cusparseHandle_t* handle) {
  *handle = new EmulatedSparse;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDestroy(cusparseHandle_t handle) {
  delete handle;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t* matrix, std::int64_t rows,
                                   std::int64_t cols, std::int64_t nonzeros, void* offsets,
                                   void* indices, void* values, cusparseIndexType_t /*offset_type*/,
                                   cusparseIndexType_t /*index_type*/, cusparseIndexBase_t /*base*/,
                                   cudaDataType /*type*/) {
  for (const void* array : {offsets, indices, values}) {
    if (reinterpret_cast<std::uintptr_t>(array) % 16 != 0) return CUSPARSE_STATUS_INVALID_VALUE;
  }
  *matrix = new EmulatedCsr{rows,
                            cols,
                            nonzeros,
                            static_cast<const std::int32_t*>(offsets),
                            static_cast<const std::int32_t*>(indices),
                            static_cast<const float*>(values)};
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDestroySpMat(cusparseSpMatDescr_t matrix) {
  delete matrix;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t* matrix, std::int64_t rows,
                                     std::int64_t cols, std::int64_t stride, void* values,
                                     cudaDataType /*type*/, cusparseOrder_t /*order*/) {
  if (stride < cols) return CUSPARSE_STATUS_INVALID_VALUE;
  *matrix = new EmulatedDense{rows, cols, stride, static_cast<float*>(values)};
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDestroyDnMat(cusparseDnMatDescr_t matrix) {
  delete matrix;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t /*handle*/,
                                         cusparseOperation_t /*form_a*/,
                                         cusparseOperation_t /*form_b*/, const void* /*alpha*/,
                                         cusparseSpMatDescr_t a, cusparseDnMatDescr_t b,
                                         const void* /*beta*/, cusparseDnMatDescr_t c,
                                         cudaDataType /*type*/, cusparseSpMMAlg_t /*algorithm*/,
                                         std::size_t* bytes) {
  if (a->cols != b->rows || a->rows != c->rows || b->cols != c->cols) {
    return CUSPARSE_STATUS_INVALID_VALUE;
  }
  *bytes = 64;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t /*form_a*/,
                              cusparseOperation_t /*form_b*/, const void* alpha,
                              cusparseSpMatDescr_t a, cusparseDnMatDescr_t b, const void* beta,
                              cusparseDnMatDescr_t c, cudaDataType /*type*/,
                              cusparseSpMMAlg_t /*algorithm*/, void* /*workspace*/) {
  const float scale = *static_cast<const float*>(alpha), keep = *static_cast<const float*>(beta);
  // By value: descriptors may be destroyed before the work is done.
  emulated::enqueue(handle->stream, [scale, keep, a = *a, b = *b, c = *c] {
    for (std::int64_t row = 0; row < a.rows; ++row) {
      for (std::int64_t col = 0; col < c.cols; ++col) {
        float sum = 0;
        for (std::int32_t i = a.offsets[row]; i < a.offsets[row + 1]; ++i) {
          sum += a.values[i] * b.values[a.indices[i] * b.stride + col];
        }
        float& out = c.values[row * c.stride + col];
        out = keep == 0 ? scale * sum : scale * sum + keep * out;
      }
    }
  });
  return CUSPARSE_STATUS_SUCCESS;
}
