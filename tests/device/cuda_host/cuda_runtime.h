// Launching kernels on the host.
#pragma once

#include <tuple>

#include <cuda_runtime_api.h>

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  const unsigned blocks = config->gridDim.x, threads = config->blockDim.x;
  if (blocks == 0 || threads == 0 || threads > 1024 || !emulated::is_chosen(config->stream)) {
    return cudaErrorInvalidValue;
  }
  std::tuple<Parameters...> values(arguments...);  // copied at once, as CUDA does
  emulated::enqueue(config->stream, [=] {
    emulated::run_grid(blocks, threads, [&] { std::apply(kernel, values); });
  });
  return cudaSuccess;
}
