// evener compare
#include "evener/run/compare/compare.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "evener/app/commands/commands.h"
#include "evener/app/commands/local_nodes.h"
#include "evener/app/options/train_options.h"
#include "evener/app/options/whole_number.h"
#include "evener/app/shell/output.h"
#include "evener/app/shell/signals.h"
#include "evener/core/error.h"
#include "evener/core/file.h"
#include "evener/core/nearest.h"
#include "evener/run/devices/cluster_file.h"

namespace evener {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  evener compare data/ --strategies sync,adaptive-sgd --devices cpu:1,cpu:1 \\\n"
    "      --emulate 1=x0.25\n"
    "  evener compare data/ --strategies sync,elastic:period=5,adaptive-sgd:gamma=0 \\\n"
    "      --virtual cluster.toml --target p@1=0.7 --tune lr -o comparison\n"
    "  evener compare data/ --strategies bsp,dasp --nodes 4 --emulate node3=x0.25\n\n"
    "Every strategy gets the same data in the same order, the same start and as many\n"
    "epochs. Options of train hold for all of them.";

/// What is about the course of one run, and does not enter into a comparison.
RefusedOptions refused_options() {
  const std::string none = "a comparison writes no checkpoints";
  const std::string whole = "every run of a comparison goes on for all --epochs";
  return {{"resume", "a comparison cannot be resumed"},
          {"checkpoint-every", none},
          {"checkpoint-minutes", none},
          {"keep", none},
          {"strategy", "name what to compare with --strategies"},
          {"eval-every", "a comparison has --evaluations-per-epoch"},
          {"early-stop", whole},
          {"patience", whole},
          {"average", "a comparison looks at the weights as they are"}};
}

constexpr int kMostRuns = 1000;

struct Args {
  GivenOptions given;
  std::string strategies;
  std::string target, cluster, tune;
  std::string grid = "0.3,1,3";
  std::uint32_t seeds = 5, evaluations = 1;
  int nodes = 0;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    if (comma > at) parts.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

double parse_number(const std::string& text, const std::string& option) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) {
    throw UsageError(fmt::format("{}: '{}' is not a number", option, text));
  }
  return value;
}

CompareOptions compare_options(const Args& args) {
  CompareOptions options;
  const char* usual = args.nodes > 0 ? "bsp,asp,ssp,dssp,dasp" : "sync,elastic,sma,adaptive-sgd";
  options.strategies = split(args.strategies.empty() ? usual : args.strategies);
  if (options.strategies.empty()) throw UsageError("--strategies: names none");
  options.seeds = args.seeds;
  options.evaluations_per_epoch = args.evaluations;
  if (!args.target.empty()) {
    const std::size_t equals = args.target.find('=');
    options.metric = args.target.substr(0, equals);
    const auto& metrics = find_train_option("early-stop").choices;
    if (options.metric == "none" ||
        std::count(metrics.begin(), metrics.end(), options.metric) == 0) {
      throw UsageError(fmt::format("--target: unknown metric '{}'{}", options.metric,
                                   did_you_mean(options.metric, metrics)));
    }
    if (equals != std::string::npos) {
      options.target = parse_number(args.target.substr(equals + 1), "--target");
    }
  }
  if (!args.tune.empty()) {
    if (args.tune != "lr") {
      throw UsageError(fmt::format("--tune: '{}' is not valid; only lr can be tuned", args.tune));
    }
    for (const auto& factor : split(args.grid)) {
      options.grid.push_back(parse_number(factor, "--grid"));
      if (!(options.grid.back() > 0)) throw UsageError("--grid: factors are above 0");
    }
  }
  return options;
}

/// Before anything is trained: a comparison that cannot be written is lost.
void check_writable(const std::string& folder) {
  std::filesystem::path place = std::filesystem::absolute(folder);
  while (!std::filesystem::exists(place)) place = place.parent_path();
  if (!std::filesystem::is_directory(place)) {
    throw Error(fmt::format("{}: cannot create: {} is not a folder", folder, place.string()));
  }
  if (access(place.c_str(), W_OK) != 0) {
    throw Error(fmt::format("{}: cannot create: {}", folder, std::strerror(errno)));
  }
}

void write_results(const Comparison& comparison, const std::string& folder) {
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const std::string& text) {
    write_atomically(folder + "/" + name, std::as_bytes(std::span(text)));
  };
  write("comparison.json", comparison_json(comparison));
  write("comparison.csv", comparison_csv(comparison));
  write("report.html", comparison_html(comparison));
}

/// Every run gets a coordinator and so many worker processes on this machine.
void compare_on_nodes(const Args& args, TrainOptions& train, CompareOptions& options) {
  if (train.devices != "auto") {
    throw UsageError("--devices: with --nodes each node is a share of this machine's cores");
  }
  const LocalCluster cluster{args.nodes, 0, node_speeds(train.emulate, args.nodes)};
  train.emulate.clear();
  train.devices = "cpu";  // that evaluates
  for (std::size_t i = 0; i < static_cast<std::size_t>(args.nodes); ++i) {
    const double speed = cluster.speeds.empty() ? 1 : cluster.speeds[i];
    options.nodes.push_back(
        fmt::format("node {}{}", i, speed < 1 ? fmt::format(" (emulated x{:g})", speed) : ""));
  }
  options.start_cluster = [cluster] { return start_local_cluster(cluster); };
}

void run(const Args& args, Shell& shell) {
  CompareOptions options = compare_options(args);
  RunContext context;
  if (!args.cluster.empty()) {
    if (args.nodes > 0) throw UsageError("--virtual and --nodes: choose one");
    for (const char* name : {"devices", "emulate", "memory-limit"}) {
      if (args.given.texts.count(name) > 0) {
        throw UsageError(std::string("--") + name +
                         ": with --virtual the devices are those of the cluster file");
      }
    }
    options.virtual_time = read_cluster(args.cluster);
  }
  TrainOptions train = resolve_options(args.given.texts, args.given.config);
  if (args.nodes > 0) compare_on_nodes(args, train, options);
  if (!train.resume.empty()) throw UsageError("--resume: a comparison cannot be resumed");
  const std::string folder = train.output.empty() ? "comparison" : train.output;
  if (std::filesystem::exists(folder + "/comparison.json")) {
    throw UsageError(folder + ": holds a comparison already; choose another folder with -o");
  }
  check_writable(folder);
  context.cache_directory = shell.environment.cache_directory;
  context.devices.automatic = [cpu = shell.environment.automatic_device] {
    return find_devices(cpu);
  };
  context.devices.cache_directory = shell.environment.cache_directory;
  context.interrupted = caught_signal;
  catch_signals("evener: stopping; once more ends at once\n");
  const auto progress = [&](const std::string& line) {
    if (!train.quiet) tell(line);
  };
  std::optional<Comparison> comparison;
  try {
    comparison = compare(train, options, context, progress);
  } catch (const Error&) {
    if (caught_signal() == 0) throw;
    tell("evener: interrupted; no run was finished, nothing is written");
    shell.exit_code = 128 + caught_signal();
    return;
  }
  if (comparison->interrupted) {
    tell("evener: interrupted; this is of the runs that were finished");
    shell.exit_code = 128 + caught_signal();
  }
  write_results(*comparison, folder);
  if (train.json) return print(comparison_json(*comparison));
  const Display display = display_of(fileno(stdout), shell.environment.display);
  print_text(comparison_text(*comparison, display.terminal ? display.width : kAnyWidth) +
             fmt::format("written: {0}/report.html, {0}/comparison.json and .csv\n", folder));
}

}  // namespace

void add_compare(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("compare", "strategies against each other on your data");
  command->footer(kExamples);
  auto args = std::make_shared<Args>();
  const auto group = "Comparison";
  command
      ->add_option("--strategies", args->strategies,
                   "names, each with :option=value parts; auto: what train chooses "
                   "(sync,elastic,sma,adaptive-sgd; with --nodes bsp,asp,ssp,dssp,dasp)")
      ->type_name("A,B,...")
      ->group(group);
  command
      ->add_option(
          "--target", args->target,
          "metric=value that a run has to reach, as p@1=0.7; without a value: 97 % of what "
          "the best strategy gets to (p@1)")
      ->type_name("METRIC=X")
      ->group(group);
  command->add_option("--virtual", args->cluster, "in virtual time, on the devices of this file")
      ->type_name("FILE")
      ->group(group);
  command
      ->add_option("--nodes", args->nodes,
                   "on so many worker processes on this machine, as of a cluster [0]")
      ->type_name("N")
      ->check(whole_number(0, kMostLocalNodes))
      ->group(group);
  command->add_option("--seeds", args->seeds, "runs of each strategy, 1 .. 1000 (5)")
      ->type_name("N")
      ->check(whole_number(1, kMostRuns))
      ->capture_default_str()
      ->group(group);
  command
      ->add_option("--evaluations-per-epoch", args->evaluations,
                   "1 .. 1000; finer times, but replicas are merged for each evaluation (1)")
      ->type_name("N")
      ->check(whole_number(1, kMostRuns))
      ->capture_default_str()
      ->group(group);
  command->add_option("--tune", args->tune, "lr: the learning rate of each strategy, over --grid")
      ->type_name("lr")
      ->group(group);
  command->add_option("--grid", args->grid, "factors of --learning-rate to tune over (0.3,1,3)")
      ->type_name("X,...")
      ->capture_default_str()
      ->group(group);
  add_train_options(*command, args->given, refused_options());
  command->get_option("--output")->description("folder to write the results to (comparison)");
  command->callback([args, &shell] { run(*args, shell); });
}

}  // namespace evener
