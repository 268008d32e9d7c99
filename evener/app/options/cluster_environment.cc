#include "evener/app/options/cluster_environment.h"

#include <algorithm>
#include <string>

#include "evener/app/shell/output.h"
#include "evener/core/error.h"
#include "evener/run/options/cluster_options.h"
#include "evener/run/options/config.h"

namespace evener {

namespace {

std::string first_line_of(const std::string& path) {
  std::string line = read_option_file("--token-file", path);
  line.resize(std::min(line.find('\n'), line.size()));
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (line.empty()) throw UsageError("--token-file " + path + ": its first line is empty");
  return line;
}

}  // namespace

std::string coordinator_address(const ClusterOptions& cluster, const Environment& environment,
                                const std::string& otherwise) {
  const std::string& address =
      cluster.coordinator.empty() ? environment.placement.master : cluster.coordinator;
  if (address.empty()) {
    throw UsageError(
        "--coordinator is missing: where it listens, HOST:PORT (or MASTER_ADDR and MASTER_PORT)" +
        otherwise);
  }
  check_address("--coordinator", address);
  return address;
}

std::string token_of(const ClusterOptions& cluster, const Environment& environment) {
  if (!cluster.token.empty()) return cluster.token;
  return cluster.token_file.empty() ? environment.token : first_line_of(cluster.token_file);
}

void warn_of_visible_token(const GivenOptions& given) {
  if (!given.texts.contains("token")) return;
  print_warning(
      "--token: other users of this machine can see the secret in the list of processes; use "
      "--token-file FILE or the variable EVENER_TOKEN");
}

int rank_of(const ClusterOptions& cluster, const Environment& environment) {
  return cluster.rank == kNotGiven ? environment.placement.rank : cluster.rank;
}

}  // namespace evener
