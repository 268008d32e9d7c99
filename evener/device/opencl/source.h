// The kernels as text; the build writes the definitions from kernels/*.cl.
#pragma once

#include <string>

namespace evener::opencl {

extern const std::string kForwardSource;  // kernels that read parameters
extern const std::string kUpdateSource;   // kernels that update them; needs OPTIMIZER

}  // namespace evener::opencl
