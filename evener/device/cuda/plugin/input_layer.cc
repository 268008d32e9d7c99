#include "evener/device/cuda/plugin/input_layer.h"

namespace evener::cuda {

namespace {

// The algorithm with deterministic sums.
constexpr cusparseSpMMAlg_t kAlgorithm = CUSPARSE_SPMM_CSR_ALG3;

class SparseDescription {
 public:
  SparseDescription(const SparseRows& rows, std::size_t count, std::size_t features,
                    std::size_t nonzeros) {
    // The library reads these arrays and asks for them without const.
    check(cusparseCreateCsr(
              &matrix_, static_cast<std::int64_t>(count), static_cast<std::int64_t>(features),
              static_cast<std::int64_t>(nonzeros), const_cast<std::uint32_t*>(rows.offsets),
              const_cast<std::uint32_t*>(rows.features), const_cast<float*>(rows.values),
              CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F),
          "cusparseCreateCsr");
  }
  SparseDescription(const SparseDescription&) = delete;
  SparseDescription& operator=(const SparseDescription&) = delete;
  ~SparseDescription() { cusparseDestroySpMat(matrix_); }
  cusparseSpMatDescr_t get() const { return matrix_; }

 private:
  cusparseSpMatDescr_t matrix_ = nullptr;
};

class DenseDescription {
 public:
  DenseDescription(float* data, std::size_t rows, std::size_t width) {
    check(cusparseCreateDnMat(&matrix_, static_cast<std::int64_t>(rows),
                              static_cast<std::int64_t>(width), static_cast<std::int64_t>(width),
                              data, CUDA_R_32F, CUSPARSE_ORDER_ROW),
          "cusparseCreateDnMat");
  }
  DenseDescription(const DenseDescription&) = delete;
  DenseDescription& operator=(const DenseDescription&) = delete;
  ~DenseDescription() { cusparseDestroyDnMat(matrix_); }
  cusparseDnMatDescr_t get() const { return matrix_; }

 private:
  cusparseDnMatDescr_t matrix_ = nullptr;
};

}  // namespace

void InputLayer::multiply(Activity& out) {
  const BatchImage& image = session_.image();
  const std::size_t nonzeros = image.words[image.offsets + image.count];
  if (nonzeros == 0) return fill_zero(session_.stream, out.values);
  const Segment& weight = session_.layout.layers.front().weight;
  const SparseDescription rows(session_.sparse_rows(), image.count, weight.rows, nonzeros);
  const DenseDescription weights(session_.parameters() + weight.offset, weight.rows, weight.stride);
  const DenseDescription sums(out.values.data(), image.count, out.width);
  const float one = 1;
  const float zero = 0;
  cusparseHandle_t library = session_.libraries.sparse();
  std::size_t bytes = 0;
  check(cusparseSpMM_bufferSize(library, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                CUSPARSE_OPERATION_NON_TRANSPOSE, &one, rows.get(), weights.get(),
                                &zero, sums.get(), CUDA_R_32F, kAlgorithm, &bytes),
        "cusparseSpMM_bufferSize");
  workspace_.grow(bytes);
  check(cusparseSpMM(library, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE,
                     &one, rows.get(), weights.get(), &zero, sums.get(), CUDA_R_32F, kAlgorithm,
                     workspace_.data()),
        "cusparseSpMM");
}

void InputLayer::update(const Activity& out, const UpdateRule& rule) {
  const BatchImage& image = session_.image();
  const LayerSegments& layer = session_.layout.layers.front();
  const Slots slots{session_.words(image.slot_features), session_.words(image.slot_begins),
                    session_.words(image.slot_samples), session_.floats(image.slot_values),
                    image.slots};
  update_slots(session_.stream, rule, session_.all_vectors(), layer.weight.offset,
               layer.bias.offset, out.width, slots, out.error.data());
}

void InputLayer::scatter_to(Activity& out) {
  fill_zero(session_.stream, out.values);
  scatter(session_.stream, session_.sparse_rows(), session_.image().count, out.values.data(),
          out.width);
}

}  // namespace evener::cuda
