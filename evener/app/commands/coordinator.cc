// evener coordinator
#include <memory>

#include <fmt/format.h>

#include "evener/app/commands/commands.h"
#include "evener/app/commands/train_result.h"
#include "evener/app/options/cluster_environment.h"
#include "evener/app/options/table_options.h"
#include "evener/app/shell/output.h"
#include "evener/app/shell/signals.h"
#include "evener/run/options/cluster_options.h"
#include "evener/run/session/backends.h"
#include "evener/run/session/train.h"

namespace evener {

namespace {

constexpr const char* kCoordinatorExamples =
    "Examples:\n"
    "  evener coordinator data/ --workers 2 -o runs/cluster\n"
    "  evener worker --coordinator 127.0.0.1:7070   # twice, in other terminals\n\n"
    "  evener certs certs --hosts node1,10.0.0.1\n"
    "  evener coordinator data/ --strategy dasp --workers 2:8 --listen 0.0.0.0:7070 \\\n"
    "      --tls certs\n\n"
    "Workers may join and leave; each has the data under the same path, or names its copy.\n"
    "--devices is where the coordinator evaluates.";

std::string workers_text(const CoordinatorOptions& options) {
  return options.least == options.most ? std::to_string(options.most)
                                       : fmt::format("{}:{}", options.least, options.most);
}

void run_coordinator(const GivenOptions& given, Shell& shell) {
  const auto& placement = shell.environment.placement;
  const TrainOptions train = resolve_options(given, Command::coordinator);
  warn_of_visible_token(given);
  const ClusterOptions& cluster = train.cluster;
  CoordinatorOptions options;
  if (!cluster.workers.empty()) {
    parse_worker_counts(cluster.workers, options);
  } else if (placement.processes > 0) {
    options.least = options.most = placement.processes;
  } else {
    throw UsageError("--workers is missing: how many, such as 4, or 2:8 for from two to eight");
  }
  options.servers = cluster.servers;
  options.listen = !cluster.listen.empty()     ? cluster.listen
                   : !placement.master.empty() ? placement.master
                                               : "127.0.0.1:7070";
  check_address("--listen", options.listen);
  const Tls tls = read_tls(cluster.tls, "coordinator");
  check_listening(options.listen, tls, cluster.insecure);
  options.transport = make_grpc_transport(tls);
  options.token = token_of(cluster, shell.environment);
  options.patience = cluster.wait_seconds;
  options.heartbeats = heartbeat_limits(cluster);
  options.stall.fixed = cluster.stall_timeout;
  options.interrupted = caught_signal;
  if (!train.quiet) options.say = print_message;
  const auto backend = make_cluster_backend(make_coordinator(options));
  std::string again = fmt::format("evener coordinator --workers {}", workers_text(options));
  if (options.servers > 0) again += fmt::format(" --servers {}", options.servers);
  train_and_print(train, *backend, again + connection_text(cluster) + " --resume", shell);
}

}  // namespace

void add_coordinator(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("coordinator", "train on workers on other machines");
  command->footer(kCoordinatorExamples);
  auto given = std::make_shared<GivenOptions>();
  add_table_options(*command, Command::coordinator, *given);
  command->callback([given, &shell] { run_coordinator(*given, shell); });
}

}  // namespace evener
