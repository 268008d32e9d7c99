// A model on an OpenCL device.
#pragma once

#include <memory>
#include <string>

#include "evener/device/device.h"
#include "evener/device/opencl/context.h"

namespace evener::opencl {

std::unique_ptr<Replica> make_opencl_replica(std::shared_ptr<Context> context,
                                             const Network& network, const Training& training,
                                             const std::string& cache_directory);

}  // namespace evener::opencl
