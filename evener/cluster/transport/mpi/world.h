// Processes that an MPI launcher has started, and that communicate through an MPI library. It lives
// in a shared object of its own, one for each family of libraries, which is loaded when it is asked
// for it: the command starts and works where no MPI is installed.
#pragma once

#include <string>

#include "evener/cluster/transport/transport.h"
#include "evener/core/time.h"

namespace evener::mpi {

struct WorldOptions {
  Seconds silence = 10;  // after which a rank is taken for dead
};

/// A transport between the ranks; an address is a rank's number, and to listen it may be left out.
/// Membership is fixed: a rank that is lost does not come back.
class World : public Transport {
 public:
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Ranks on this machine, this one too.
  virtual int neighbours() const = 0;
  /// Its name and version, for people.
  virtual std::string library() const = 0;
  /// Which rank has failed or was lost, and why; empty: all are well.
  virtual std::string lost() const = 0;
  /// Whether this one is among them.
  virtual bool has_lost(int rank) const = 0;
  /// When all is done here: waits until it is on all other ranks, too. Error where one is lost.
  virtual void leave() = 0;
  /// Tells the others that this rank ends, and why, and gives rank 0 time to save what it has.
  /// Whether rank 0 has heard it: it is the one to say it.
  virtual bool fail(const std::string& why) = 0;
};

/// What the shared object is asked for, by this name. Host and plug-in must be of one build: null
/// is the answer to another version. Error where MPI does not start.
inline constexpr const char* kPluginEntry = "evener_mpi_plugin";
inline constexpr const char* kPluginVersion = "2 " __VERSION__;
using PluginEntry = World* (*)(const char* version, const WorldOptions& options);

}  // namespace evener::mpi
