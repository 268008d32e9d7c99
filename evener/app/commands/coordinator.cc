// evener coordinator
#include <memory>

#include <fmt/format.h>

#include "evener/app/commands/commands.h"
#include "evener/app/commands/train_result.h"
#include "evener/app/options/cluster_options.h"
#include "evener/app/options/train_options.h"
#include "evener/app/options/whole_number.h"
#include "evener/app/shell/output.h"
#include "evener/app/shell/signals.h"
#include "evener/run/options/cluster_options.h"
#include "evener/run/session/backends.h"
#include "evener/run/session/train.h"

namespace evener {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  evener coordinator data/ --workers 2 -o runs/cluster\n"
    "  evener worker --coordinator 127.0.0.1:7070   # twice, in other terminals\n\n"
    "  evener certs certs --hosts node1,10.0.0.1\n"
    "  evener coordinator data/ --strategy dasp --workers 2:8 --listen 0.0.0.0:7070 \\\n"
    "      --tls certs\n\n"
    "Workers may come and go; each has the data under the same path, or names its copy.\n"
    "--devices is where the coordinator evaluates.";

struct Args {
  GivenOptions given;
  ClusterArgs cluster;
  std::string workers, listen;
  int servers = 0;
  bool insecure = false;
};

std::string workers_text(const CoordinatorOptions& options) {
  return options.least == options.most ? std::to_string(options.most)
                                       : fmt::format("{}:{}", options.least, options.most);
}

void run(const Args& args, Shell& shell) {
  const auto& placement = shell.environment.placement;
  const TrainOptions train = resolve_options(args.given.texts, args.given.config);
  CoordinatorOptions options;
  if (!args.workers.empty()) {
    parse_worker_counts(args.workers, options);
  } else if (placement.processes > 0) {
    options.least = options.most = placement.processes;
  } else {
    throw UsageError("--workers is missing: how many, such as 4, or 2:8 for from two to eight");
  }
  options.servers = args.servers;
  options.listen = !args.listen.empty()        ? args.listen
                   : !placement.master.empty() ? placement.master
                                               : "127.0.0.1:7070";
  check_address("--listen", options.listen);
  const Tls tls = read_tls(args.cluster.tls, "coordinator");
  check_listening(options.listen, tls, args.insecure);
  options.transport = make_grpc_transport(tls);
  options.token = args.cluster.token.empty() ? shell.environment.token : args.cluster.token;
  options.patience = args.cluster.wait_seconds;
  options.heartbeats = args.cluster.heartbeats;
  check_heartbeats(options.heartbeats);
  options.interrupted = caught_signal;
  if (!train.quiet) options.say = tell;
  const auto backend = make_cluster_backend(make_coordinator(options));
  std::string again = fmt::format("evener coordinator --workers {}", workers_text(options));
  if (options.servers > 0) again += fmt::format(" --servers {}", options.servers);
  if (!args.listen.empty()) again += " --listen " + args.listen;
  if (!args.cluster.tls.empty()) again += " --tls " + args.cluster.tls;
  if (args.insecure) again += " --insecure";
  if (!args.cluster.token.empty()) again += " --token ...";
  train_and_print(train, *backend, again + " --resume", shell);
}

}  // namespace

void add_coordinator(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("coordinator", "train on workers of other machines");
  command->footer(kExamples);
  auto args = std::make_shared<Args>();
  add_train_options(*command, args->given,
                    {{"emulate", "slowness is emulated by workers: evener worker --emulate"}});
  command
      ->add_option("--workers", args->workers,
                   "how many; or from how many to how many, as 2:8 [WORLD_SIZE]")
      ->type_name("N");
  command
      ->add_option("--servers", args->servers,
                   "so many `evener server` keep the model, a part each; 0: kept here [0]")
      ->type_name("K")
      ->check(whole_number(0, kMostServers));
  command->add_option("--listen", args->listen, "where workers connect [127.0.0.1:7070]")
      ->type_name("HOST:PORT");
  command->add_flag("--insecure", args->insecure, "listen beyond this machine without TLS");
  add_security(*command, args->cluster);
  add_patience(*command, args->cluster, "workers where there are too few");
  add_heartbeats(*command, args->cluster);
  command->callback([args, &shell] { run(*args, shell); });
}

}  // namespace evener
