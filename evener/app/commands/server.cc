// evener server
#include <memory>

#include "evener/app/commands/commands.h"
#include "evener/app/commands/local_nodes.h"
#include "evener/app/options/cluster_options.h"
#include "evener/app/options/whole_number.h"
#include "evener/app/shell/output.h"
#include "evener/app/shell/signals.h"
#include "evener/cluster/parameter_server/shard_server.h"
#include "evener/core/cores.h"
#include "evener/core/error.h"
#include "evener/run/options/cluster_options.h"

namespace evener {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  evener coordinator data/ --workers 4 --servers 2\n"
    "  evener server --coordinator 127.0.0.1:7070   # twice, in other terminals\n"
    "  evener server --coordinator node1:7070 --listen 0.0.0.0:7071 \\\n"
    "      --address node2:7071 --tls certs\n\n"
    "A server keeps a part of the model, so that not all workers pull from and push\n"
    "to one machine.";

struct Args {
  ClusterArgs cluster;
  ShardServerOptions options;
  bool insecure = false, quiet = false;
};

void run(const Args& args, Shell& shell) {
  end_with_parent();
  const Environment& environment = shell.environment;
  ShardServerOptions options = args.options;
  if (options.coordinator.empty()) options.coordinator = environment.placement.master;
  if (options.coordinator.empty()) {
    throw UsageError("--coordinator is missing: its HOST:PORT (or MASTER_ADDR and MASTER_PORT)");
  }
  check_address("--coordinator", options.coordinator);
  check_address("--listen", options.listen);
  if (!options.address.empty()) check_address("--address", options.address);
  const Tls tls = read_tls(args.cluster.tls, "server");
  check_listening(options.listen, tls, args.insecure);
  options.transport = make_grpc_transport(tls);
  options.token = args.cluster.token.empty() ? environment.token : args.cluster.token;
  options.patience = args.cluster.wait_seconds;
  if (options.threads == 0) options.threads = available_cores();
  options.interrupted = caught_signal;
  if (!args.quiet) options.say = [](const std::string& text) { tell("server: " + text); };
  catch_signals("evener: leaving the run; once more ends at once\n");
  shell.exit_code = run_shard_server(options);
}

}  // namespace

void add_server(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("server", "keep a part of the model for a coordinator");
  command->footer(kExamples);
  auto args = std::make_shared<Args>();
  args->options.threads = 0;
  command
      ->add_option("--coordinator", args->options.coordinator,
                   "where it listens [MASTER_ADDR and MASTER_PORT]")
      ->type_name("HOST:PORT");
  command
      ->add_option("--listen", args->options.listen,
                   "where workers connect; port 0: any that is free [127.0.0.1:0]")
      ->type_name("HOST:PORT");
  command
      ->add_option("--address", args->options.address,
                   "what workers are told, if that is not where it listens")
      ->type_name("HOST:PORT");
  command->add_option("--threads", args->options.threads, "that update its part [all cores]")
      ->type_name("N")
      ->check(whole_number(1, 1024));
  command->add_flag("--insecure", args->insecure, "listen beyond this machine without TLS");
  command->add_flag("--quiet", args->quiet, "say nothing but errors");
  add_security(*command, args->cluster);
  add_patience(*command, args->cluster, "a coordinator that is not there");
  command->callback([args, &shell] { run(*args, shell); });
}

}  // namespace evener
