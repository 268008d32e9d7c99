// The kinds of runs, as recorded in a checkpoint: a run is resumed only by the same kind.
#pragma once

#include <map>
#include <string>

namespace evener {

enum class RunKind {
  local,         // devices of this machine
  virtual_time,  // simulated devices
  cluster,       // a coordinator with workers
  peers,         // gossip, without a coordinator
};
inline constexpr RunKind kRunKinds[] = {RunKind::local, RunKind::virtual_time, RunKind::cluster,
                                        RunKind::peers};

/// Reads and writes the kind among the options of a checkpoint. A checkpoint without a kind is of a
/// local run.
RunKind run_kind(const std::map<std::string, std::string>& checkpoint_options);
void set_run_kind(RunKind kind, std::map<std::string, std::string>& checkpoint_options);

/// UsageError if `kind` cannot resume the run of the checkpoint; `directory` is for the message.
void check_same_kind(RunKind kind, const std::map<std::string, std::string>& checkpoint_options,
                     const std::string& directory);

}  // namespace evener
