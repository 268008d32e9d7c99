// evener server
#include "evener/cluster/server.h"

#include <memory>

#include "evener/app/cluster_options.h"
#include "evener/app/commands.h"
#include "evener/app/local_nodes.h"
#include "evener/app/output.h"
#include "evener/app/signals.h"
#include "evener/app/whole_number.h"
#include "evener/core/error.h"
#include "evener/device/cpu/cpu_device.h"
#include "evener/run/cluster_options.h"

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

struct Wish {
  ClusterWish cluster;
  ServerOptions options;
  bool insecure = false, quiet = false;
};

void run(const Wish& wish, Shell& shell) {
  end_with_parent();
  const Environment& environment = shell.environment;
  ServerOptions options = wish.options;
  if (options.coordinator.empty()) options.coordinator = environment.placement.master;
  if (options.coordinator.empty()) {
    throw UsageError("--coordinator is missing: its HOST:PORT (or MASTER_ADDR and MASTER_PORT)");
  }
  check_address("--coordinator", options.coordinator);
  check_address("--listen", options.listen);
  if (!options.address.empty()) check_address("--address", options.address);
  const Tls tls = read_tls(wish.cluster.tls, "server");
  check_listening(options.listen, tls, wish.insecure);
  options.transport = make_grpc_transport(tls);
  options.token = wish.cluster.token.empty() ? environment.token : wish.cluster.token;
  options.patience = wish.cluster.wait_seconds;
  if (options.threads == 0) options.threads = cpu::available_cores();
  options.interrupted = caught_signal;
  if (!wish.quiet) options.say = [](const std::string& text) { tell("server: " + text); };
  catch_signals("evener: leaving the run; once more ends at once\n");
  shell.exit_code = run_server(options);
}

}  // namespace

void add_server(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("server", "keep a part of the model for a coordinator");
  command->footer(kExamples);
  auto wish = std::make_shared<Wish>();
  wish->options.threads = 0;
  command
      ->add_option("--coordinator", wish->options.coordinator,
                   "where it listens [MASTER_ADDR and MASTER_PORT]")
      ->type_name("HOST:PORT");
  command
      ->add_option("--listen", wish->options.listen,
                   "where workers connect; port 0: any that is free [127.0.0.1:0]")
      ->type_name("HOST:PORT");
  command
      ->add_option("--address", wish->options.address,
                   "what workers are told, if that is not where it listens")
      ->type_name("HOST:PORT");
  command->add_option("--threads", wish->options.threads, "that update its part [all cores]")
      ->type_name("N")
      ->check(whole_number(1, 1024));
  command->add_flag("--insecure", wish->insecure, "listen beyond this machine without TLS");
  command->add_flag("--quiet", wish->quiet, "say nothing but errors");
  add_security(*command, wish->cluster);
  add_patience(*command, wish->cluster, "a coordinator that is not there");
  command->callback([wish, &shell] { run(*wish, shell); });
}

}  // namespace evener
