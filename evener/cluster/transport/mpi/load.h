// Loads the MPI plug-in of a family of libraries.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "evener/cluster/transport/mpi/world.h"

namespace evener::mpi {

/// Families of libraries: programs that were built for one member of a family run with any.
inline const std::vector<std::string> kFamilies{"openmpi", "mpich"};

/// At most once per process. UsageError where the family's library or its plug-in is not installed.
std::shared_ptr<World> start_world(const std::string& family, const WorldOptions& options = {});

}  // namespace evener::mpi
