// Which OpenCL devices there are.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "evener/device/opencl/context.h"

namespace evener::opencl {

struct Listed {
  Place place;
  std::string description;  // for people
  bool processor = false;   // the same cores as the device `cpu`
  unsigned compute_units = 0;
  std::size_t memory = 0;
  bool usable = true;
  std::string why_not;
};

/// Every device of every platform; empty where there is no OpenCL runtime.
std::vector<Listed> list();

/// UsageError where there is none, with what there is.
cl::Device find(const Place& place);

/// "opencl:0.0", "opencl:0.0.1"; parse throws UsageError.
std::string to_string(const Place& place);
Place parse_place(const std::string& name);

}  // namespace evener::opencl
