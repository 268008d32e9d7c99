// Processes that an MPI launcher has started, and that communicate through an MPI library. The
// implementation is a plug-in, one for each family of libraries. It is loaded on request, so that
// the command works where no MPI is installed.
#pragma once

#include <string>

#include "evener/cluster/transport/transport.h"
#include "evener/core/time.h"

namespace evener::mpi {

struct WorldOptions {
  Seconds silence = 10;  // after which a rank is considered lost
};

/// A transport between the ranks. An address is a rank's number; to listen, it may be empty.
/// Membership is fixed: a rank that is lost cannot rejoin.
class World : public Transport {
 public:
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The number of ranks on this machine, including this one.
  virtual int neighbours() const = 0;
  /// The library's name and version, for messages.
  virtual std::string library() const = 0;
  /// Which rank has failed or was lost, and why; empty: none.
  virtual std::string lost() const = 0;
  /// Whether this rank has failed or was lost.
  virtual bool has_lost(int rank) const = 0;
  /// This rank is done: waits until all other ranks are done too. Error if one is lost.
  virtual void leave() = 0;
  /// Sends the reason of a failure to the other ranks, and gives rank 0 time to save its state.
  /// Returns whether rank 0 has received the reason: it then reports it to the user.
  virtual bool fail(const std::string& why) = 0;
};

/// The entry point of the plug-in. Host and plug-in must be of one build: it returns null for
/// another version. Error if MPI does not start.
inline constexpr const char* kPluginEntry = "evener_mpi_plugin";
inline constexpr const char* kPluginVersion = "2 " __VERSION__;
using PluginEntry = World* (*)(const char* version, const WorldOptions& options);

}  // namespace evener::mpi
