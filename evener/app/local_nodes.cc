#include "evener/app/local_nodes.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "evener/app/environment.h"
#include "evener/core/error.h"

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
  // By its name, so that it has one in lists of processes.
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
  constexpr int kLooks = 50;
  for (int look = 0; look <= kLooks; ++look) {
    std::erase_if(processes_, [](pid_t process) {
      const pid_t ended = waitpid(process, nullptr, WNOHANG);
      return ended == process || (ended < 0 && errno == ECHILD);
    });
    if (processes_.empty()) return;
    if (look == kLooks) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  for (const pid_t process : processes_) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
}

void end_with_parent() {
  const char* parent = std::getenv(kParentVariable);
  if (parent == nullptr) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // It may have gone before that.
  if (std::to_string(getppid()) != parent) throw Error("whoever started this process has gone");
}

std::string random_token() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

}  // namespace evener
