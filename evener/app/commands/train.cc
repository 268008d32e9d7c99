// evener train
#include "evener/run/session/train.h"

#include <memory>

#include <fmt/format.h>

#include "evener/app/commands/commands.h"
#include "evener/app/commands/local_nodes.h"
#include "evener/app/commands/peers.h"
#include "evener/app/commands/train_mpi.h"
#include "evener/app/commands/train_result.h"
#include "evener/app/options/cluster_options.h"
#include "evener/app/options/train_options.h"
#include "evener/app/options/whole_number.h"
#include "evener/run/options/cluster_options.h"
#include "evener/run/session/backends.h"

namespace evener {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  evener train train.txt --test test.txt -o runs/first\n"
    "  evener train train.txt --validation-share 0.1 --early-stop p@1 --hidden 256\n"
    "  evener train --config recipe.toml --learning-rate 0.002 --seed 2\n"
    "  evener train --resume runs/first --epochs 20\n"
    "  evener train train.txt --nodes 4 --strategy dasp\n"
    "  evener train train.txt --peers node1:7070,node2:7070 --rank 0 --tls certs\n"
    "  mpirun -n 4 evener train train.txt --transport mpi -o runs/ranks\n\n"
    "Ctrl-C (or SIGTERM) writes a checkpoint and ends the run; --resume goes on. A\n"
    "second one ends the run at once; what is left is the checkpoint before.";

struct Args {
  GivenOptions given;
  int nodes = 0, servers = 0;
  PeerArgs peer;
  std::string transport = "grpc";
  ClusterArgs cluster;
};

/// MPI's launcher says who takes part, and its library how they talk.
void check_free_for_mpi(const Args& args) {
  const std::pair<const char*, bool> others[] = {
      {"--peers", !args.peer.peers.empty()},   {"--nodes", args.nodes > 0},
      {"--servers", args.servers > 0},         {"--rank", args.peer.rank >= 0},
      {"--listen", !args.peer.listen.empty()}, {"--tls", !args.cluster.tls.empty()},
      {"--token", !args.cluster.token.empty()}};
  for (const auto& [name, given] : others) {
    if (!given) continue;
    throw UsageError(fmt::format(
        "{}: not with --transport mpi, whose launcher says who takes part and where", name));
  }
}

/// A coordinator with its workers and servers, all on this machine.
void train_on_nodes(TrainOptions options, int count, int servers, Shell& shell) {
  // A run that is resumed says where it was evaluated.
  if (options.devices != "auto" && (options.resume.empty() || options.devices != "cpu")) {
    throw UsageError("--devices: with --nodes each node is a share of this machine's cores");
  }
  const LocalCluster cluster{count, servers, node_speeds(options.emulate, count)};
  options.emulate.clear();
  const auto backend = make_cluster_backend(start_local_cluster(cluster));
  const std::string again = fmt::format("evener train --nodes {}{} --resume", count,
                                        servers > 0 ? fmt::format(" --servers {}", servers) : "");
  train_and_print(options, *backend, again, shell);
}

}  // namespace

void add_train(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("train", "train a model");
  command->footer(kExamples);
  auto args = std::make_shared<Args>();
  add_train_options(*command, args->given);
  command
      ->add_option("--nodes", args->nodes,
                   "so many worker processes on this machine, as a cluster [0]")
      ->type_name("N")
      ->check(whole_number(0, kMostLocalNodes));
  command
      ->add_option("--servers", args->servers,
                   "of --nodes: so many processes keep the model, a part each; 0: this one [0]")
      ->type_name("K")
      ->check(whole_number(0, kMostServers));
  add_peer_options(*command, args->peer, args->cluster,
                   "train as one of these gossiping processes, without a coordinator");
  command->add_option("--rank", args->peer.rank, "of --peers: which of them this one is [RANK]")
      ->type_name("N")
      ->check(whole_number(0, kMostPeers));
  command
      ->add_option(
          "--device-strategy", args->peer.device_strategy,
          "of --peers and ranks of MPI: how several --devices of one train together: evener "
          "strategies [auto]")
      ->type_name("NAME");
  command
      ->add_option("--transport", args->transport,
                   "mpi: train as one of the ranks that mpirun or srun has started; mpi:openmpi or "
                   "mpi:mpich where that does not say which [grpc]")
      ->type_name("NAME");
  add_security(*command, args->cluster);
  add_patience(*command, args->cluster, "the other --peers");
  command->callback([args, &shell] {
    const std::string mpi = mpi_family_of(args->transport, shell.environment);
    const auto resolved = [&] { return resolve_options(args->given.texts, args->given.config); };
    if (!mpi.empty()) {
      check_free_for_mpi(*args);
      return train_by_mpi(mpi, resolved, args->peer.device_strategy, shell);
    }
    const TrainOptions options = resolved();
    if (args->servers > 0 && args->nodes == 0) throw UsageError("--servers is for --nodes");
    if (!args->peer.peers.empty()) {
      if (args->nodes > 0) throw UsageError("--peers and --nodes: choose one");
      if (!options.emulate.empty()) throw UsageError("--emulate: not with --peers");
      return train_as_peer(options, args->peer,
                           peers_of(args->peer, args->cluster, shell.environment), {}, shell);
    }
    for (const auto& [name, given] :
         {std::pair{"--device-strategy", !args->peer.device_strategy.empty()},
          {"--rank", args->peer.rank >= 0},
          {"--listen", !args->peer.listen.empty()},
          {"--evict", args->cluster.heartbeats.evict != HeartbeatLimits().evict},
          {"--tls", !args->cluster.tls.empty()},
          {"--token", !args->cluster.token.empty()}}) {
      if (given) throw UsageError(fmt::format("{} is for --peers", name));
    }
    if (args->nodes > 0) return train_on_nodes(options, args->nodes, args->servers, shell);
    train_and_print(options, *make_local_backend(), "evener train --resume", shell);
  });
}

}  // namespace evener
