// evener coordinator
#include <memory>

#include <fmt/format.h>

#include "evener/app/cluster_options.h"
#include "evener/app/commands.h"
#include "evener/app/output.h"
#include "evener/app/signals.h"
#include "evener/app/train_options.h"
#include "evener/app/train_result.h"
#include "evener/app/whole_number.h"
#include "evener/run/cluster_options.h"
#include "evener/run/train.h"

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

struct Wish {
  GivenOptions given;
  ClusterWish cluster;
  std::string workers, listen;
  int servers = 0;
  bool insecure = false;
};

std::string workers_text(const NodesOptions& options) {
  return options.least == options.most ? std::to_string(options.most)
                                       : fmt::format("{}:{}", options.least, options.most);
}

void run(const Wish& wish, Shell& shell) {
  const auto& placement = shell.environment.placement;
  const TrainOptions train = resolve_options(wish.given.texts, wish.given.config);
  NodesOptions options;
  if (!wish.workers.empty()) {
    parse_worker_counts(wish.workers, options);
  } else if (placement.processes > 0) {
    options.least = options.most = placement.processes;
  } else {
    throw UsageError("--workers is missing: how many, such as 4, or 2:8 for from two to eight");
  }
  options.servers = wish.servers;
  options.listen = !wish.listen.empty()        ? wish.listen
                   : !placement.master.empty() ? placement.master
                                               : "127.0.0.1:7070";
  check_address("--listen", options.listen);
  const Tls tls = read_tls(wish.cluster.tls, "coordinator");
  check_listening(options.listen, tls, wish.insecure);
  options.transport = make_grpc_transport(tls);
  options.token = wish.cluster.token.empty() ? shell.environment.token : wish.cluster.token;
  options.patience = wish.cluster.wait_seconds;
  options.heartbeats = wish.cluster.heartbeats;
  check_heartbeats(options.heartbeats);
  options.interrupted = caught_signal;
  if (!train.quiet) options.say = tell;
  RunContext context;
  context.nodes = make_nodes(options);
  std::string again = fmt::format("evener coordinator --workers {}", workers_text(options));
  if (options.servers > 0) again += fmt::format(" --servers {}", options.servers);
  if (!wish.listen.empty()) again += " --listen " + wish.listen;
  if (!wish.cluster.tls.empty()) again += " --tls " + wish.cluster.tls;
  if (wish.insecure) again += " --insecure";
  if (!wish.cluster.token.empty()) again += " --token ...";
  train_and_print(train, context, again + " --resume", shell);
}

}  // namespace

void add_coordinator(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("coordinator", "train on workers of other machines");
  command->footer(kExamples);
  auto wish = std::make_shared<Wish>();
  add_train_options(*command, wish->given,
                    {{"emulate", "slowness is emulated by workers: evener worker --emulate"}});
  command
      ->add_option("--workers", wish->workers,
                   "how many; or from how many to how many, as 2:8 [WORLD_SIZE]")
      ->type_name("N");
  command
      ->add_option("--servers", wish->servers,
                   "so many `evener server` keep the model, a part each; 0: kept here [0]")
      ->type_name("K")
      ->check(whole_number(0, kMostServers));
  command->add_option("--listen", wish->listen, "where workers connect [127.0.0.1:7070]")
      ->type_name("HOST:PORT");
  command->add_flag("--insecure", wish->insecure, "listen beyond this machine without TLS");
  add_security(*command, wish->cluster);
  add_patience(*command, wish->cluster, "workers where there are too few");
  add_heartbeats(*command, wish->cluster);
  command->callback([wish, &shell] { run(*wish, shell); });
}

}  // namespace evener
