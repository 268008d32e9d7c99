// evener train
#include "evener/run/train.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "evener/app/cluster_options.h"
#include "evener/app/commands.h"
#include "evener/app/local_nodes.h"
#include "evener/app/signals.h"
#include "evener/app/train_options.h"
#include "evener/app/train_result.h"
#include "evener/device/cpu/cpu_device.h"

namespace evener {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  evener train train.txt --test test.txt -o runs/first\n"
    "  evener train train.txt --validation-share 0.1 --early-stop p@1 --hidden 256\n"
    "  evener train --config recipe.toml --learning-rate 0.002 --seed 2\n"
    "  evener train --resume runs/first --epochs 20\n"
    "  evener train train.txt --nodes 4 --strategy dasp\n\n"
    "Ctrl-C (or SIGTERM) writes a checkpoint and ends the run; --resume goes on. A\n"
    "second one ends the run at once; what is left is the checkpoint before.";

constexpr int kMostNodes = 256;

struct Wish {
  GivenOptions given;
  int nodes = 0, servers = 0;
};

/// "node1=x0.25, 2=x0.5": the speeds of nodes, by number or name.
std::vector<double> node_speeds(const std::string& emulate, int nodes) {
  std::vector<std::string> names(static_cast<std::size_t>(nodes));
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = fmt::format("node{}", i);
  return parse_emulation(emulate, names);
}

/// A coordinator with its workers and servers, all on this machine.
void train_on_nodes(TrainOptions options, int count, int servers, Shell& shell) {
  // A run that is resumed says where it was evaluated.
  if (options.devices != "auto" && (options.resume.empty() || options.devices != "cpu")) {
    throw UsageError("--devices: with --nodes each node is a share of this machine's cores");
  }
  const auto speeds = node_speeds(options.emulate, count);
  options.emulate.clear();
  NodesOptions nodes;
  nodes.least = nodes.most = count;
  nodes.servers = servers;
  nodes.token = random_token();
  nodes.interrupted = caught_signal;
  RunContext context;
  context.nodes = make_nodes(nodes);
  const int threads = std::max(1, cpu::available_cores() / count);
  const std::string address = fmt::format("127.0.0.1:{}", context.nodes->port());
  std::vector<std::vector<std::string>> arguments;
  arguments.reserve(static_cast<std::size_t>(count) + static_cast<std::size_t>(servers));
  for (int i = 0; i < servers; ++i) {
    arguments.push_back(
        {"server", "--coordinator", address, "--threads", "1", "--wait-seconds", "10", "--quiet"});
  }
  for (int i = 0; i < count; ++i) {
    arguments.push_back({"worker", "--coordinator", address, "--rank", std::to_string(i),
                         "--devices", fmt::format("cpu:{}", threads), "--wait-seconds", "10",
                         "--quiet"});
    const double speed = speeds.empty() ? 1 : speeds[static_cast<std::size_t>(i)];
    if (speed < 1) {
      arguments.back().insert(arguments.back().end(), {"--emulate", fmt::format("x{:g}", speed)});
    }
  }
  const LocalNodes processes(arguments, nodes.token);
  const std::string again = fmt::format("evener train --nodes {}{} --resume", count,
                                        servers > 0 ? fmt::format(" --servers {}", servers) : "");
  try {
    train_and_print(options, context, again, shell);
  } catch (...) {
    context.nodes.reset();  // tells them that it is over
    throw;
  }
  context.nodes.reset();
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
      ->check(CLI::Range(0, kMostNodes));
  command
      ->add_option("--servers", wish->servers,
                   "of --nodes: so many processes keep the model, a part each; 0: this one [0]")
      ->type_name("K")
      ->check(CLI::Range(0, kMostServers));
  command->callback([wish, &shell] {
    const TrainOptions options = resolve_options(wish->given.texts, wish->given.config);
    if (wish->servers > 0 && wish->nodes == 0) throw UsageError("--servers is for --nodes");
    if (wish->nodes > 0) return train_on_nodes(options, wish->nodes, wish->servers, shell);
    train_and_print(options, {}, "evener train --resume", shell);
  });
}

}  // namespace evener
