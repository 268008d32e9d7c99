// Workers and servers on this machine, for --nodes of `evener train` and `evener compare`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "evener/cluster/parameter_server/coordinator.h"

namespace evener {

class LocalNodes {
 public:
  /// `evener` with these arguments each, and EVENER_TOKEN set. Error where one cannot be started. A
  /// Ctrl-C does not reach them: the coordinator tells them when it is over.
  LocalNodes(const std::vector<std::vector<std::string>>& arguments, const std::string& token);
  /// Waits a moment for them to go by themselves, then ends them.
  ~LocalNodes();
  LocalNodes(const LocalNodes&) = delete;
  LocalNodes& operator=(const LocalNodes&) = delete;

 private:
  std::vector<pid_t> processes_;
};

struct LocalCluster {
  int nodes = 1, servers = 0;
  std::vector<double> speeds;  // emulated, of each node; empty: none
};
/// A coordinator with its workers, which share this machine's cores, and servers. They end when
/// nobody holds it any more.
std::shared_ptr<ClusterCoordinator> start_local_cluster(const LocalCluster& cluster);

/// "node1=x0.25, 2=x0.5": the speeds of nodes, by number or name.
std::vector<double> node_speeds(const std::string& emulate, int nodes);

/// In a process that LocalNodes started: it ends when whoever started it does, however that ends.
void end_with_parent();

}  // namespace evener
