// evener status
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "evener/app/commands/commands.h"
#include "evener/app/options/cluster_environment.h"
#include "evener/app/options/table_options.h"
#include "evener/app/shell/output.h"
#include "evener/cluster/parameter_server/status_request.h"
#include "evener/core/counted.h"
#include "evener/run/options/cluster_options.h"
#include "evener/run/report/progress_bar.h"

namespace evener {

namespace {

constexpr const char* kStatusExamples =
    "Examples:\n"
    "  evener status\n"
    "  evener status 127.0.0.1:7071 --json\n"
    "  evener status node1:7070 --tls certs\n\n"
    "One line for each worker slot of the run: pushes that it has made, rows of them, share of the "
    "time "
    "that it was busy, how many updates of others a push had missed (staleness), and pushes that "
    "were refused.";

struct StatusArgs {
  GivenOptions given;
  std::string coordinator = "127.0.0.1:7070";
};

constexpr int kTableColumns = 79;

std::string node_row(const nlohmann::json& node) {
  return fmt::format("{:<10}{:<10}{:>9}{:>10}{:>7.0f} %{:>11.1f}{:>10.1f}{:>10}\n",
                     node.value("name", ""), node.value("state", ""), node.value("pushes", 0),
                     node.value("rows", 0), 100 * node.value("busy_share", 0.0),
                     node.value("mean_staleness", 0.0), node.value("bytes", 0.0) / 1e6,
                     node.value("rejected", 0));
}

/// The same as text, for a terminal that is too narrow for the table.
std::string node_words(const nlohmann::json& node) {
  return fmt::format(
      "{}  {}, {} pushes, {} rows, busy {:.0f} %, staleness {:.1f}, {:.1f} MB, {} refused\n",
      node.value("name", ""), node.value("state", ""), node.value("pushes", 0),
      node.value("rows", 0), 100 * node.value("busy_share", 0.0), node.value("mean_staleness", 0.0),
      node.value("bytes", 0.0) / 1e6, node.value("rejected", 0));
}

std::string status_text(const nlohmann::json& status, bool narrow) {
  if (!status.contains("strategy")) {
    const auto there = status.value("workers_there", std::size_t{0});
    return fmt::format(
        "training has not begun; {}\n",
        there == 0 ? "no worker is connected" : counted(there, "worker") + " connected");
  }
  const double total_seconds = status.value("total_seconds", 0.0);
  const std::string progress =
      total_seconds > 0
          ? fmt::format("{}, epoch {}",
                        part_of_duration(status.value("training_seconds", 0.0), total_seconds),
                        status.value("epoch", 0))
          : fmt::format("epoch {} of {}", status.value("epoch", 0), status.value("epochs", 0));
  std::string text =
      fmt::format("{}, {} ({:.0f} %), loss {:.4f}, {:.0f} rows/s\n", status.value("strategy", ""),
                  progress, 100 * status.value("epoch_share", 0.0), status.value("loss", 0.0),
                  status.value("samples_per_second", 0.0));
  if (status.contains("servers")) {
    text += fmt::format("{} of {} connected\n", status.value("servers_there", 0),
                        counted(status.value("servers", std::size_t{0}), "server"));
  }
  const bool none_connected = status.value("workers_there", 1) == 0;
  if (none_connected) text += "no worker is connected now; this is the last known state\n";
  if (!narrow) {
    text += fmt::format("{:<10}{:<10}{:>9}{:>10}{:>9}{:>11}{:>10}{:>10}\n", "node", "state",
                        "pushes", "rows", "busy", "staleness", "MB", "refused");
  }
  for (const auto& node : status.value("nodes", nlohmann::json::array())) {
    text += narrow ? node_words(node) : node_row(node);
  }
  return text;
}

}  // namespace

void add_status(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("status", "show the state of a cluster's run");
  command->footer(kStatusExamples);
  auto args = std::make_shared<StatusArgs>();
  command->add_option("COORDINATOR", args->coordinator, "where it listens [127.0.0.1:7070]")
      ->type_name("HOST:PORT");
  add_table_options(*command, Command::status, args->given);
  command->callback([args, &shell] {
    check_address("COORDINATOR", args->coordinator);
    const TrainOptions options = read_options(args->given, Command::status);
    warn_of_visible_token(args->given);
    const auto transport = make_grpc_transport(read_tls(options.cluster.tls, "worker"));
    const std::string text =
        ask_status(*transport, args->coordinator, token_of(options.cluster, shell.environment));
    // Parsed first: the sender must not write anything else to a terminal.
    if (options.json) return print(nlohmann::ordered_json::parse(text).dump() + "\n");
    const Display display = display_of(STDOUT_FILENO, shell.environment.display);
    print_text(status_text(nlohmann::json::parse(text),
                           display.terminal && display.width < kTableColumns));
  });
}

}  // namespace evener
