// evener train
#include "evener/run/train.h"

#include <memory>

#include <fmt/format.h>

#include "evener/app/cluster_options.h"
#include "evener/app/commands.h"
#include "evener/app/local_nodes.h"
#include "evener/app/peers.h"
#include "evener/app/train_mpi.h"
#include "evener/app/train_options.h"
#include "evener/app/train_result.h"
#include "evener/app/whole_number.h"
#include "evener/run/cluster_options.h"

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

struct Wish {
  GivenOptions given;
  int nodes = 0, servers = 0;
  PeerWish peer;
  std::string transport = "grpc";
  ClusterWish cluster;
};

/// MPI's launcher says who takes part, and its library how they talk.
void check_free_for_mpi(const Wish& wish) {
  const std::pair<const char*, bool> others[] = {
      {"--peers", !wish.peer.peers.empty()},   {"--nodes", wish.nodes > 0},
      {"--servers", wish.servers > 0},         {"--rank", wish.peer.rank >= 0},
      {"--listen", !wish.peer.listen.empty()}, {"--tls", !wish.cluster.tls.empty()},
      {"--token", !wish.cluster.token.empty()}};
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
  RunContext context;
  context.nodes = start_local_cluster(cluster);
  const std::string again = fmt::format("evener train --nodes {}{} --resume", count,
                                        servers > 0 ? fmt::format(" --servers {}", servers) : "");
  train_and_print(options, std::move(context), again, shell);
}

}  // namespace

void add_train(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("train", "train a model");
  command->footer(kExamples);
  auto wish = std::make_shared<Wish>();
  add_train_options(*command, wish->given);
  command
      ->add_option("--nodes", wish->nodes,
                   "so many worker processes on this machine, as a cluster [0]")
      ->type_name("N")
      ->check(whole_number(0, kMostLocalNodes));
  command
      ->add_option("--servers", wish->servers,
                   "of --nodes: so many processes keep the model, a part each; 0: this one [0]")
      ->type_name("K")
      ->check(whole_number(0, kMostServers));
  add_peer_options(*command, wish->peer, wish->cluster,
                   "train as one of these gossiping processes, without a coordinator");
  command->add_option("--rank", wish->peer.rank, "of --peers: which of them this one is [RANK]")
      ->type_name("N")
      ->check(whole_number(0, kMostPeers));
  command
      ->add_option(
          "--device-strategy", wish->peer.device_strategy,
          "of --peers and ranks of MPI: how several --devices of one train together: evener "
          "strategies [auto]")
      ->type_name("NAME");
  command
      ->add_option("--transport", wish->transport,
                   "mpi: train as one of the ranks that mpirun or srun has started; mpi:openmpi or "
                   "mpi:mpich where that does not say which [grpc]")
      ->type_name("NAME");
  add_security(*command, wish->cluster);
  add_patience(*command, wish->cluster, "the other --peers");
  command->callback([wish, &shell] {
    const std::string mpi = mpi_family_of(wish->transport, shell.environment);
    const auto resolved = [&] { return resolve_options(wish->given.texts, wish->given.config); };
    if (!mpi.empty()) {
      check_free_for_mpi(*wish);
      return train_by_mpi(mpi, resolved, wish->peer.device_strategy, shell);
    }
    const TrainOptions options = resolved();
    if (wish->servers > 0 && wish->nodes == 0) throw UsageError("--servers is for --nodes");
    if (!wish->peer.peers.empty()) {
      if (wish->nodes > 0) throw UsageError("--peers and --nodes: choose one");
      if (!options.emulate.empty()) throw UsageError("--emulate: not with --peers");
      return train_as_peer(options, wish->peer,
                           peers_of(wish->peer, wish->cluster, shell.environment), {}, shell);
    }
    for (const auto& [name, given] :
         {std::pair{"--device-strategy", !wish->peer.device_strategy.empty()},
          {"--rank", wish->peer.rank >= 0},
          {"--listen", !wish->peer.listen.empty()},
          {"--evict", wish->cluster.heartbeats.evict != HeartbeatLimits().evict},
          {"--tls", !wish->cluster.tls.empty()},
          {"--token", !wish->cluster.token.empty()}}) {
      if (given) throw UsageError(fmt::format("{} is for --peers", name));
    }
    if (wish->nodes > 0) return train_on_nodes(options, wish->nodes, wish->servers, shell);
    train_and_print(options, {}, "evener train --resume", shell);
  });
}

}  // namespace evener
