#include "evener/app/commands/local_nodes.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <random>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "evener/app/shell/environment.h"
#include "evener/app/shell/signals.h"
#include "evener/core/cores.h"
#include "evener/core/error.h"
#include "evener/core/time.h"
#include "evener/run/devices/devices.h"

namespace evener {

namespace {

constexpr const char* kParentVariable = "EVENER_PARENT";

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (auto& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

pid_t spawn(std::vector<std::string> arguments, std::vector<std::string> variables) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t process = 0;
  // The real path, not /proc/self/exe, so that process lists show the program's name.
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const int problem = posix_spawn(&process, self.c_str(), nullptr, &attributes,
                                  pointers_to(arguments).data(), pointers_to(variables).data());
  posix_spawnattr_destroy(&attributes);
  if (problem != 0) {
    throw Error("another evener cannot be started: " + std::generic_category().message(problem));
  }
  return process;
}

}  // namespace

LocalNodes::LocalNodes(const std::vector<std::vector<std::string>>& arguments,
                       const std::string& token) {
  for (const auto& own : arguments) {
    std::vector<std::string> all{"evener"};
    all.insert(all.end(), own.begin(), own.end());
    auto variables = environment_with("EVENER_TOKEN", token);
    variables.push_back(fmt::format("{}={}", kParentVariable, getpid()));
    processes_.push_back(spawn(std::move(all), std::move(variables)));
  }
}

LocalNodes::~LocalNodes() {
  if (ended_within(caught_signal() != 0 ? 0.3 : 5)) return;
  for (const pid_t process : processes_) kill(process, SIGKILL);
  ended_within(1);  // not for ever: a process may be in a call that even this does not end
}

bool LocalNodes::ended_within(Seconds seconds) {
  constexpr Seconds kLook = 0.05;
  for (const Stopwatch clock;; std::this_thread::sleep_for(std::chrono::duration<Seconds>(kLook))) {
    std::erase_if(processes_, [](pid_t process) {
      const pid_t ended = waitpid(process, nullptr, WNOHANG);
      return ended == process || (ended < 0 && errno == ECHILD);
    });
    if (processes_.empty() || clock.elapsed() >= seconds) return processes_.empty();
  }
}

void end_with_parent() {
  const char* parent = std::getenv(kParentVariable);
  if (parent == nullptr) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have exited before the call.
  if (std::to_string(getppid()) != parent) throw Error("the parent process has exited");
}

namespace {

/// Secret for one run: 128 random bits.
std::string random_token() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

std::vector<std::vector<std::string>> commands(const LocalCluster& cluster,
                                               const std::string& address) {
  const int threads = std::max(1, available_cores() / cluster.nodes);
  std::vector<std::vector<std::string>> commands;
  commands.reserve(static_cast<std::size_t>(cluster.servers) +
                   static_cast<std::size_t>(cluster.nodes));
  for (int i = 0; i < cluster.servers; ++i) {
    commands.push_back(
        {"server", "--coordinator", address, "--threads", "1", "--wait-seconds", "10", "--quiet"});
  }
  for (int i = 0; i < cluster.nodes; ++i) {
    commands.push_back({"worker", "--coordinator", address, "--rank", std::to_string(i),
                        "--devices", fmt::format("cpu:{}", threads), "--wait-seconds", "10",
                        "--quiet"});
    const double speed = cluster.speeds.empty() ? 1 : cluster.speeds[static_cast<std::size_t>(i)];
    if (speed < 1) {
      commands.back().insert(commands.back().end(), {"--emulate", fmt::format("x{:g}", speed)});
    }
  }
  return commands;
}

/// Destroys the coordinator first, so that the processes end by themselves.
struct RunningCluster {
  std::optional<LocalNodes> processes;
  std::unique_ptr<ClusterCoordinator> nodes;
};

}  // namespace

std::shared_ptr<ClusterCoordinator> start_local_cluster(const LocalCluster& cluster) {
  CoordinatorOptions options;
  options.least = options.most = cluster.nodes;
  options.servers = cluster.servers;
  options.token = random_token();
  options.stall.fixed = cluster.stall_timeout;
  options.interrupted = caught_signal;
  auto running = std::make_shared<RunningCluster>();
  running->nodes = make_coordinator(options);
  running->processes.emplace(commands(cluster, running->nodes->address()), options.token);
  return {running, running->nodes.get()};
}

std::vector<double> node_speeds(const std::string& emulate, int nodes) {
  std::vector<std::string> names(static_cast<std::size_t>(nodes));
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = fmt::format("node{}", i);
  return parse_emulation(emulate, names);
}

}  // namespace evener
