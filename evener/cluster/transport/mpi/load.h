// Whether MPI can be used here, and the way to it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "evener/cluster/transport/mpi/world.h"

namespace evener::mpi {

/// Of libraries: programs that were built for one member of a family run with any.
inline const std::vector<std::string> kFamilies{"openmpi", "mpich"};

/// Once a process, which MPI then belongs to. UsageError where the family's library or our part of
/// it is not installed.
std::shared_ptr<World> start_world(const std::string& family, const WorldOptions& options = {});

}  // namespace evener::mpi
