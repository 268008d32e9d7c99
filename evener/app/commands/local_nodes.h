// Workers and servers on this machine, for --nodes of `evener train` and `evener compare`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "evener/cluster/parameter_server/coordinator.h"
#include "evener/core/seconds.h"

namespace evener {

class LocalNodes {
 public:
  /// Starts one `evener` for each argument list, with EVENER_TOKEN set. Throws Error if one cannot
  /// be started. The processes do not receive Ctrl-C: the coordinator ends them.
  LocalNodes(const std::vector<std::vector<std::string>>& arguments, const std::string& token);
  /// Waits 5 s for the processes to exit, 0.3 s after a signal, then kills them.
  ~LocalNodes();
  LocalNodes(const LocalNodes&) = delete;
  LocalNodes& operator=(const LocalNodes&) = delete;

 private:
  bool ended_within(Seconds seconds);

  std::vector<pid_t> processes_;  // that have not ended
};

struct LocalCluster {
  int nodes = 1, servers = 0;
  std::vector<double> speeds;  // emulated speed of each node; empty: none
  Seconds stall_timeout = 0;   // 0: from each worker's own pace
};
/// Starts a coordinator, and its workers and servers, which share this machine's cores. They end
/// with the last reference to the coordinator.
std::shared_ptr<ClusterCoordinator> start_local_cluster(const LocalCluster& cluster);

/// "node1=x0.25, 2=x0.5": the speeds of nodes, by number or name.
std::vector<double> node_speeds(const std::string& emulate, int nodes);

/// In a process that LocalNodes started: ends this process when its parent exits for any reason.
void end_with_parent();

}  // namespace evener
