#include "evener/run/artifacts/run_kind.h"

#include <fmt/format.h>

#include "evener/core/error.h"

namespace evener {

namespace {

// Keys and values in checkpoints; all versions use the same ones.
constexpr const char* kVirtualKey = "virtual time";
constexpr const char* kClusterKey = "cluster";
constexpr const char* kCoordinator = "yes";
constexpr const char* kPeers = "peers";

struct KindText {
  const char* was;
  const char* resume_with;
};

KindText text_of(RunKind kind) {
  switch (kind) {
    case RunKind::local:
      return {"on the devices of one machine", "evener train"};
    case RunKind::virtual_time:
      return {"a simulation", "evener simulate"};
    case RunKind::cluster:
      return {"a cluster's",
              "evener coordinator or evener train --nodes (under MPI, with mpirun and --transport "
              "mpi)"};
    case RunKind::peers:
      return {"one of several peers'",
              "evener train --peers and --rank (under MPI, with mpirun and --transport mpi)"};
  }
  throw Error("unknown kind of run");
}

}  // namespace

RunKind run_kind(const std::map<std::string, std::string>& checkpoint_options) {
  if (checkpoint_options.count(kVirtualKey) > 0) return RunKind::virtual_time;
  const auto cluster = checkpoint_options.find(kClusterKey);
  if (cluster == checkpoint_options.end()) return RunKind::local;
  return cluster->second == kPeers ? RunKind::peers : RunKind::cluster;
}

void set_run_kind(RunKind kind, std::map<std::string, std::string>& checkpoint_options) {
  checkpoint_options.erase(kVirtualKey);
  checkpoint_options.erase(kClusterKey);
  switch (kind) {
    case RunKind::local:
      return;
    case RunKind::virtual_time:
      checkpoint_options[kVirtualKey] = "yes";
      return;
    case RunKind::cluster:
      checkpoint_options[kClusterKey] = kCoordinator;
      return;
    case RunKind::peers:
      checkpoint_options[kClusterKey] = kPeers;
      return;
  }
}

void check_same_kind(RunKind kind, const std::map<std::string, std::string>& checkpoint_options,
                     const std::string& directory) {
  const RunKind was = run_kind(checkpoint_options);
  if (was == kind) return;
  const KindText text = text_of(was);
  throw UsageError(fmt::format("--resume {}: that run was {}: resume it with {}", directory,
                               text.was, text.resume_with));
}

}  // namespace evener
