// The kernels as text; the build writes the definitions from kernels/*.cl.
#pragma once

#include <string>

namespace evener::opencl {

extern const std::string kForwardSource;  // what reads parameters
extern const std::string kUpdateSource;   // what changes them; needs OPTIMIZER

}  // namespace evener::opencl
