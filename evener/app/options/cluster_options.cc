#include "evener/app/options/cluster_options.h"

#include <fmt/format.h>

#include "evener/core/error.h"

namespace evener {

namespace {

void add_seconds(CLI::App& command, const std::string& name, double& value,
                 const std::string& help) {
  command.add_option("--" + name, value, fmt::format("{} [{:g}]", help, value))
      ->type_name("SECONDS")
      ->check(CLI::Validator(
          [](const std::string& text) {
            double number = 0;
            const bool good = CLI::detail::lexical_cast(text, number) && number > 0;
            return good ? std::string() : text + ": must be a number of seconds above 0";
          },
          ""));
}

}  // namespace

void add_security(CLI::App& command, ClusterArgs& args) {
  command.add_option("--tls", args.tls, "mutual TLS with the files of this folder (evener certs)")
      ->type_name("FOLDER");
  command
      .add_option("--token", args.token,
                  "that workers and coordinator, or peers, share [EVENER_TOKEN, or none]")
      ->type_name("TEXT");
}

void add_patience(CLI::App& command, ClusterArgs& args, const std::string& for_what) {
  add_seconds(command, "wait-seconds", args.wait_seconds, "how long to wait for " + for_what);
}

void add_silence(CLI::App& command, ClusterArgs& args) {
  add_seconds(command, "evict", args.heartbeats.evict,
              "of --peers: of silence until one is given up, and the others do its steps");
}

void add_heartbeats(CLI::App& command, ClusterArgs& args) {
  add_seconds(command, "heartbeat", args.heartbeats.beat, "between two signs of life");
  add_seconds(command, "suspect", args.heartbeats.suspect,
              "of silence until dasp waits for a worker no longer");
  add_seconds(command, "evict", args.heartbeats.evict,
              "of silence until a worker is given up and its rows go to others");
}

void check_heartbeats(const HeartbeatLimits& limits) {
  if (limits.beat < limits.suspect && limits.suspect <= limits.evict) return;
  throw UsageError(
      fmt::format("--heartbeat {:g} --suspect {:g} --evict {:g}: each must be more than the one "
                  "before",
                  limits.beat, limits.suspect, limits.evict));
}

}  // namespace evener
