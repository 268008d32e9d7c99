// evener train --transport mpi
#pragma once

#include <functional>
#include <string>

#include "evener/app/commands/commands.h"
#include "evener/run/options/options.h"

namespace evener {

/// The family of MPI libraries that --transport names; empty: it does not name MPI. UsageError
/// where neither the option nor a launcher says which family.
std::string mpi_family_of(const std::string& transport, const Environment& environment);

/// Trains as one of the ranks that the launcher has started. Only one rank reports wrong options.
void train_by_mpi(const std::string& family, const std::function<TrainOptions()>& options,
                  const std::string& device_strategy, Shell& shell);

}  // namespace evener
