// The one place that reads the environment.
#pragma once

#include <string>
#include <vector>

#include "evener/data/cache.h"
#include "evener/run/report/progress_bar.h"

namespace evener {

struct Environment {
  /// EVENER_CACHE_DIR, else evener in XDG_CACHE_HOME, else in HOME/.cache; empty: no cache. The
  /// limit is EVENER_CACHE_LIMIT.
  CacheOptions cache;
  /// The processor of `--devices auto`: cpu, or cpu:T if OMP_NUM_THREADS is set.
  std::string automatic_device = "cpu";
  DisplayOptions display;  // NO_COLOR, TERM
  std::string token;       // EVENER_TOKEN: shared by the processes of a cluster
  /// The launcher's settings for this process: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, else
  /// OMPI_COMM_WORLD_RANK/SIZE, PMI_RANK/SIZE, SLURM_PROCID/NTASKS.
  struct Placement {
    int rank = -1;       // -1: not set
    int processes = 0;   // 0: not set
    std::string master;  // HOST:PORT; empty: not set
  } placement;
  /// The family of MPI libraries whose launcher started this process (mpi/load.h): openmpi where
  /// OMPI_COMM_WORLD_SIZE or PMIX_RANK is set, mpich with PMI_SIZE; empty: no launcher of MPI.
  std::string mpi;
};

/// UsageError if a variable of Evener's own has a wrong value.
Environment read_environment();

/// The environment of this process ("NAME=value") plus one variable, for a child process.
std::vector<std::string> environment_with(const std::string& name, const std::string& value);

}  // namespace evener
