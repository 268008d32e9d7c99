#include "evener/run/options/modes.h"

#include "evener/core/error.h"
#include "evener/policy/catalogue.h"
#include "evener/run/options/options.h"

namespace evener {

namespace {

struct ModeInfo {
  Mode mode;
  Command command;
  const char* selector;
};

constexpr ModeInfo kInfos[] = {
    {Mode::train, Command::train, ""},
    {Mode::train_nodes, Command::train, "--nodes"},
    {Mode::train_peers, Command::train, "--peers"},
    {Mode::train_mpi_gossip, Command::train, "--transport mpi"},
    {Mode::train_mpi_server, Command::train, "--transport mpi"},
    {Mode::simulate, Command::simulate, ""},
    {Mode::compare, Command::compare, ""},
    {Mode::compare_virtual, Command::compare, "--virtual"},
    {Mode::compare_nodes, Command::compare, "--nodes"},
    {Mode::profile, Command::profile, ""},
    {Mode::coordinator, Command::coordinator, ""},
    {Mode::worker, Command::worker, ""},
    {Mode::worker_peers, Command::worker, "--peers"},
    {Mode::server, Command::server, ""},
    {Mode::status, Command::status, ""},
};
static_assert(std::size(kInfos) == kModes, "a row for every mode");

const ModeInfo& info_of(Mode mode) {
  for (const auto& info : kInfos) {
    if (info.mode == mode) return info;
  }
  throw Error("a mode without a row");
}

[[noreturn]] void refuse_both(const char* one, const char* other) {
  throw UsageError(std::string(one) + " and " + other + ": choose one");
}

bool is_gossip(const TrainOptions& options) {
  return options.strategy == "auto" ||
         parse_strategy(options.strategy).strategy->sharing == Sharing::peers;
}

}  // namespace

std::vector<Mode> all_modes() {
  std::vector<Mode> modes;
  for (const auto& info : kInfos) modes.push_back(info.mode);
  return modes;
}

Command command_of(Mode mode) {
  return info_of(mode).command;
}

ModeSet modes_of(Command command) {
  ModeSet modes;
  for (const auto& info : kInfos) {
    if (info.command == command) modes = modes | info.mode;
  }
  return modes;
}

std::string command_name(Command command) {
  switch (command) {
    case Command::train:
      return "train";
    case Command::simulate:
      return "simulate";
    case Command::compare:
      return "compare";
    case Command::profile:
      return "profile";
    case Command::coordinator:
      return "coordinator";
    case Command::worker:
      return "worker";
    case Command::server:
      return "server";
    case Command::status:
      return "status";
  }
  throw Error("a command without a name");
}

std::string selector_of(Mode mode) {
  return info_of(mode).selector;
}

std::string mode_name(Mode mode) {
  const std::string selector = selector_of(mode);
  return command_name(command_of(mode)) + (selector.empty() ? "" : " " + selector);
}

Mode mode_of(Command command, const TrainOptions& options) {
  const ClusterOptions& cluster = options.cluster;
  switch (command) {
    case Command::train:
      if (cluster.transport != kGrpcTransport) {
        return is_gossip(options) ? Mode::train_mpi_gossip : Mode::train_mpi_server;
      }
      if (!cluster.peers.empty() && cluster.nodes > 0) refuse_both("--peers", "--nodes");
      if (!cluster.peers.empty()) return Mode::train_peers;
      return cluster.nodes > 0 ? Mode::train_nodes : Mode::train;
    case Command::compare:
      if (!options.compare.virtual_file.empty() && cluster.nodes > 0) {
        refuse_both("--virtual", "--nodes");
      }
      if (!options.compare.virtual_file.empty()) return Mode::compare_virtual;
      return cluster.nodes > 0 ? Mode::compare_nodes : Mode::compare;
    case Command::worker:
      if (cluster.peers.empty()) return Mode::worker;
      if (!cluster.coordinator.empty()) refuse_both("--coordinator", "--peers");
      return Mode::worker_peers;
    case Command::simulate:
      return Mode::simulate;
    case Command::profile:
      return Mode::profile;
    case Command::coordinator:
      return Mode::coordinator;
    case Command::server:
      return Mode::server;
    case Command::status:
      return Mode::status;
  }
  throw Error("a command without a mode");
}

}  // namespace evener
