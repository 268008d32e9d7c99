// evener server
#include <memory>

#include "evener/app/commands/commands.h"
#include "evener/app/commands/local_nodes.h"
#include "evener/app/options/cluster_environment.h"
#include "evener/app/options/table_options.h"
#include "evener/app/shell/output.h"
#include "evener/app/shell/signals.h"
#include "evener/cluster/parameter_server/shard_server.h"
#include "evener/core/cores.h"
#include "evener/run/options/cluster_options.h"

namespace evener {

namespace {

constexpr const char* kServerExamples =
    "Examples:\n"
    "  evener coordinator data/ --workers 4 --servers 2\n"
    "  evener server --coordinator 127.0.0.1:7070   # twice, in other terminals\n"
    "  evener server --coordinator node1:7070 --listen 0.0.0.0:7071 \\\n"
    "      --address node2:7071 --tls certs\n\n"
    "A server keeps a part of the model, so that not all workers pull from and push\n"
    "to one machine.";

void run_server(const GivenOptions& given, Shell& shell) {
  end_with_parent();
  const Environment& environment = shell.environment;
  const TrainOptions asked = read_options(given, Command::server);
  warn_of_visible_token(given);
  const ClusterOptions& cluster = asked.cluster;
  ShardServerOptions options;
  options.coordinator = coordinator_address(cluster, environment);
  if (!cluster.listen.empty()) options.listen = cluster.listen;
  check_address("--listen", options.listen);
  options.address = cluster.address;
  if (!options.address.empty()) check_address("--address", options.address);
  const Tls tls = read_tls(cluster.tls, "server");
  check_listening(options.listen, tls, cluster.insecure);
  if (!options.address.empty()) {
    check_certificate(tls, cluster.tls + "/server.pem", "--address", options.address);
  }
  options.transport = make_grpc_transport(tls);
  options.token = token_of(cluster, environment);
  options.patience = cluster.wait_seconds;
  options.threads = cluster.threads == 0 ? available_cores() : cluster.threads;
  options.interrupted = caught_signal;
  if (!asked.quiet) options.say = [](const std::string& text) { print_message("server: " + text); };
  catch_signals("evener: leaving the run; once more ends at once\n");
  const SignalDeadline deadline;
  shell.exit_code = run_shard_server(options);
}

}  // namespace

void add_server(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("server", "keep a part of the model for a coordinator");
  command->footer(kServerExamples);
  auto given = std::make_shared<GivenOptions>();
  add_table_options(*command, Command::server, *given);
  command->callback([given, &shell] { run_server(*given, shell); });
}

}  // namespace evener
