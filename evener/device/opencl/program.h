// The kernels, built for one device and one optimizer.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "evener/device/opencl/context.h"

namespace evener::opencl {

/// The tiling parameters; the kernels have them in capitals.
struct Tiling {
  unsigned vec, nv, tile, block, strip, wg;
  unsigned panel() const { return vec * nv; }
};
Tiling tiling_for(const Context& context);

/// Compiles kernels, or takes them from the cache. DeviceError with the compiler's log where they
/// do not build.
cl::Program build_program(const Context& context, const std::string& source,
                          const std::string& options, const std::string& cache_directory);

/// A marker file: the kernels of this optimizer were compiled on this machine before, and are
/// cached by us or (for parts of a device) by the driver.
std::string mark_of(const Context& context, Optimizer optimizer,
                    const std::string& cache_directory);

class Program {
 public:
  /// Binaries are cached in `cache_directory`; empty: only in memory.
  Program(std::shared_ptr<Context> context, Optimizer optimizer,
          const std::string& cache_directory);

  const Tiling& tiling() const { return tiling_; }

  /// Puts a kernel on the queue. `inner` and `outer` are the sizes of the kernel's loops over
  /// dimensions 0 and 1.
  template <class... Arguments>
  void run(const char* kernel, std::size_t inner, std::size_t outer,
           const Arguments&... arguments) {
    cl::Kernel& k = find(kernel);
    cl_uint index = 0;
    (k.setArg(index++, arguments), ...);
    launch(k, inner, outer);
  }

 private:
  cl::Kernel& find(const char* name);
  void launch(const cl::Kernel& kernel, std::size_t inner, std::size_t outer);

  std::shared_ptr<Context> context_;
  Tiling tiling_;
  cl::Program forward_, updates_;
  std::map<std::string, cl::Kernel> kernels_;
};

}  // namespace evener::opencl
