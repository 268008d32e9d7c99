// An open card, and a replica's resources on it: streams, events and library handles.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "evener/device/accelerator/footprint.h"
#include "evener/device/cuda/plugin/calls.h"
#include "evener/device/device.h"

namespace evener::cuda {

struct OpenCard {
  int number = 0;
  std::string name;        // as in --devices
  std::size_t memory = 0;  // bytes that may be used
};

/// UsageError if the card is too old for these kernels.
std::shared_ptr<OpenCard> open_card(int number, const DeviceOptions& options);

/// Selects the card for the calling thread. Needed for each call, since replicas move between
/// threads.
void use(const OpenCard& card);

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream"); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(stream_); }

  operator cudaStream_t() const { return stream_; }  // NOLINT(google-explicit-constructor)
  void wait() const { check(cudaStreamSynchronize(stream_), "waiting for the card"); }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "an event"); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }

  void record(const Stream& stream) { check(cudaEventRecord(event_, stream), "cudaEventRecord"); }
  /// An event that was never recorded counts as completed.
  void wait() const { check(cudaEventSynchronize(event_), "cudaEventSynchronize"); }
  /// Later work on the stream waits for it.
  void hold(const Stream& stream) const {
    check(cudaStreamWaitEvent(stream, event_, 0), "cudaStreamWaitEvent");
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// cuBLAS and cuSPARSE on one stream.
class Libraries {
 public:
  explicit Libraries(const Stream& stream);
  Libraries(const Libraries&) = delete;
  Libraries& operator=(const Libraries&) = delete;
  ~Libraries();

  cublasHandle_t blas() const { return blas_; }
  cusparseHandle_t sparse() const { return sparse_; }

 private:
  cublasHandle_t blas_ = nullptr;
  cusparseHandle_t sparse_ = nullptr;
};

}  // namespace evener::cuda
