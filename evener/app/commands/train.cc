// evener train
#include "evener/run/session/train.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "evener/app/commands/commands.h"
#include "evener/app/commands/local_nodes.h"
#include "evener/app/commands/peers.h"
#include "evener/app/commands/train_mpi.h"
#include "evener/app/commands/train_result.h"
#include "evener/app/options/cluster_environment.h"
#include "evener/app/options/table_options.h"
#include "evener/app/shell/output.h"
#include "evener/core/error.h"
#include "evener/run/session/backends.h"
#include "evener/run/session/head.h"
#include "evener/run/session/new_run.h"

namespace evener {

namespace {

constexpr const char* kTrainExamples =
    "Examples:\n"
    "  evener train train.txt --test test.txt -o runs/first\n"
    "  evener train train.txt --validation-share 0.1 --early-stop p@1 --hidden 256\n"
    "  evener train --config recipe.toml --learning-rate 0.002 --seed 2\n"
    "  evener train --resume runs/first --epochs 20\n"
    "  evener train train.txt --nodes 4 --strategy dasp\n"
    "  evener train train.txt --peers node1:7070,node2:7070 --rank 0 --tls certs\n"
    "  mpirun -n 4 evener train train.txt --transport mpi -o runs/ranks\n\n"
    "Ctrl-C (or SIGTERM, SIGHUP) writes a checkpoint and ends the run; --resume\n"
    "continues it.\n"
    "A second one ends the run at once; only earlier checkpoints remain.";

/// Trains with a coordinator, workers and servers, all on this machine.
void train_on_nodes(TrainOptions options, Shell& shell) {
  const int count = options.cluster.nodes, servers = options.cluster.servers;
  const LocalCluster cluster{count, servers, node_speeds(options.emulate, count),
                             options.cluster.stall_timeout};
  options.emulate.clear();
  const auto backend = make_cluster_backend(start_local_cluster(cluster));
  const std::string again = fmt::format("evener train --nodes {}{} --resume", count,
                                        servers > 0 ? fmt::format(" --servers {}", servers) : "");
  train_and_print(options, *backend, again, shell);
}

/// All MPI ranks get the same options, and only one rank reports wrong ones.
bool another_rank_speaks(const GivenOptions& given, const Environment& environment) {
  const auto transport = given.texts.find("transport");
  return transport != given.texts.end() && transport->second.starts_with("mpi") &&
         !environment.mpi.empty() && environment.placement.rank > 0;
}

/// Trains on the devices of this machine.
void train_here(TrainOptions options, Shell& shell) {
  constexpr const char* kAgain = "evener train --resume";
  std::optional<TrainingData> data;
  std::vector<std::string> notes;
  if (!options.head_reason.empty()) notes.push_back(options.head_reason);
  if (options.head == "auto" && options.resume.empty()) {
    if (!options.output.empty()) refuse_existing_run(options.output);
    data = open_training_data(options, run_context(options, shell).cache, print_warning);
    const HeadChoice choice = choose_head(data->train);
    options.head = choice.head;
    notes.push_back(choice.why);
  }
  const auto backend = make_local_backend();
  train_and_print(options, *backend, kAgain, shell, notes, data ? &*data : nullptr);
}

void run_train(const GivenOptions& given, Shell& shell) {
  const ClusterOptions cluster = read_options(given, Command::train).cluster;
  warn_of_visible_token(given);
  const auto resolved = [&] { return resolve_options(given, Command::train); };
  const std::string mpi = mpi_family_of(cluster.transport, shell.environment);
  if (!mpi.empty()) return train_by_mpi(mpi, resolved, cluster.device_strategy, shell);
  const TrainOptions options = resolved();
  if (options.mode == Mode::train_peers) {
    return train_as_peer(options, cluster, peers_of(options.cluster, shell.environment),
                         {cluster.device_strategy, "--device-strategy"}, {}, shell);
  }
  if (options.mode == Mode::train_nodes) return train_on_nodes(options, shell);
  train_here(options, shell);
}

}  // namespace

void add_train(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("train", "train a model");
  command->footer(kTrainExamples);
  auto given = std::make_shared<GivenOptions>();
  add_table_options(*command, Command::train, *given);
  command->callback([given, &shell] {
    try {
      run_train(*given, shell);
    } catch (const UsageError&) {
      if (!another_rank_speaks(*given, shell.environment)) throw;
      shell.exit_code = 2;
    }
  });
}

}  // namespace evener
