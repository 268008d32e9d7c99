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
#include "evener/app/options/table_options.h"
#include "evener/app/shell/output.h"
#include "evener/app/shell/signals.h"
#include "evener/core/error.h"
#include "evener/core/file.h"
#include "evener/core/nearest.h"
#include "evener/run/devices/cluster_file.h"

namespace evener {

namespace {

constexpr const char* kCompareExamples =
    "Examples:\n"
    "  evener compare data/ --strategies sync,adaptive-sgd --devices cpu:1,cpu:1 \\\n"
    "      --emulate 1=x0.25\n"
    "  evener compare data/ --strategies sync,elastic:period=5,adaptive-sgd:gamma=0 \\\n"
    "      --virtual cluster.toml --target p@1=0.7 --tune lr -o comparison\n"
    "  evener compare data/ --strategies bsp,dasp --nodes 4 --emulate node3=x0.25\n\n"
    "Every strategy gets the same data in the same order, the same start and the same\n"
    "training time: what sync needs for --epochs. Options of train hold for all of them.";

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

CompareOptions compare_options(const TrainOptions& train) {
  const CompareArgs& args = train.compare;
  CompareOptions options;
  options.strategies = strategies_of(train);
  options.adds_hogbatch = args.strategies.empty() && train.mode != Mode::compare_nodes;
  options.equal_seconds = args.equal == "seconds";
  options.reference = args.reference;
  options.seeds = args.seeds;
  options.evaluations_per_epoch = args.evaluations_per_epoch;
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

/// Called before training, because a comparison that cannot be written is lost.
void check_writable(const std::string& folder) {
  std::filesystem::path ancestor = std::filesystem::absolute(folder);
  while (!std::filesystem::exists(ancestor)) ancestor = ancestor.parent_path();
  if (!std::filesystem::is_directory(ancestor)) {
    if (std::filesystem::exists(folder)) {
      throw UsageError(folder + ": exists and is not a directory; choose another one with -o");
    }
    throw Error(fmt::format("{}: cannot create: {} is not a folder", folder, ancestor.string()));
  }
  if (access(ancestor.c_str(), W_OK) != 0) {
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

/// Gives every run its own coordinator and worker processes on this machine.
void compare_on_nodes(TrainOptions& train, CompareOptions& options) {
  const int nodes = train.cluster.nodes;
  const LocalCluster cluster{nodes, 0, node_speeds(train.emulate, nodes), 0};
  train.emulate.clear();
  train.devices = "cpu";  // for evaluation
  for (std::size_t i = 0; i < static_cast<std::size_t>(nodes); ++i) {
    const double speed = cluster.speeds.empty() ? 1 : cluster.speeds[i];
    options.nodes.push_back(
        fmt::format("node {}{}", i, speed < 1 ? fmt::format(" (emulated x{:g})", speed) : ""));
  }
  options.start_cluster = [cluster] { return start_local_cluster(cluster); };
}

void run_compare(const GivenOptions& given, Shell& shell) {
  const TrainOptions asked = read_options(given, Command::compare);
  CompareOptions options = compare_options(asked);
  RunContext context;
  if (asked.mode == Mode::compare_virtual) {
    options.virtual_time = read_cluster(asked.compare.virtual_file);
  }
  TrainOptions train = resolve_options(given, Command::compare);
  if (train.mode == Mode::compare_nodes) compare_on_nodes(train, options);
  const std::string folder = train.output.empty() ? "comparison" : train.output;
  if (std::filesystem::exists(folder + "/comparison.json")) {
    throw UsageError(folder + ": holds a comparison already; choose another folder with -o");
  }
  check_writable(folder);
  context.cache = shell.environment.cache;
  context.devices.automatic = [cpu = shell.environment.automatic_device] {
    return find_devices(cpu);
  };
  context.devices.cache_directory = shell.environment.cache.directory;
  context.interrupted = caught_signal;
  catch_signals("evener: stopping; once more ends at once\n");
  const auto progress = [&](const std::string& line) {
    if (!train.quiet) print_message(line);
  };
  std::optional<StepDeadline> deadline;
  if (!options.virtual_time) {  // there, several runs have threads of their own
    context.main_steps = std::make_shared<MainSteps>();
    deadline.emplace(context.main_steps, HangLimits{}, "nothing is written");
  }
  std::optional<Comparison> comparison;
  try {
    comparison = compare(train, options, context, progress);
  } catch (const Error&) {
    if (caught_signal() == 0) throw;
    print_message("evener: interrupted before a run was finished; nothing is written");
    shell.exit_code = 128 + caught_signal();
    return;
  }
  if (comparison->interrupted) {
    print_message("evener: interrupted; the results cover the finished runs only");
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
  auto* command = app.add_subcommand("compare", "compare strategies on your data");
  command->footer(kCompareExamples);
  auto given = std::make_shared<GivenOptions>();
  add_table_options(*command, Command::compare, *given);
  command->callback([given, &shell] { run_compare(*given, shell); });
}

}  // namespace evener
