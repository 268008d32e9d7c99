// The conformance suite of transports.
//   transport_conformance local RANKS [large=MB] [kill]   ranks are threads
//   transport_conformance grpc RANKS [large=MB] [kill]    ranks are processes
//   mpirun -n RANKS transport_conformance openmpi FILE [large=MB] [kill]     or mpich; see
//   ranks.py
// kill: runs only the check in which the last rank dies.
#include <csignal>
#include <cstdio>
#include <functional>

#include "tests/cluster/transport/conformance/checks.h"
#include <fmt/format.h>
#include <sys/wait.h>

#include "evener/cluster/transport/mpi/load.h"

namespace evener {
namespace {

struct Args {
  bool kill = false;
  std::size_t large = std::size_t{8} << 20;
};

/// The exit code.
int run_checks(Rank rank, const Args& args) {
  rank.large = args.large;
  std::vector<Check> checks = all_checks();
  if (args.kill) checks = {{"check_death", check_death}};
  for (const auto& check : checks) {
    try {
      check.run(rank);
    } catch (const Died&) {
      return 0;
    } catch (const std::exception& problem) {
      rank.rendezvous->fail();
      fmt::print(stderr, "rank {} of {}: FAILED {}: {}\n", rank.rank, rank.size, check.name,
                 problem.what());
      return 1;
    }
  }
  fmt::print("rank {} of {}: {} checks passed\n", rank.rank, rank.size, checks.size());
  std::fflush(stdout);
  return 0;
}

int run_threads(int ranks, const Args& args) {
  Rendezvous rendezvous;
  const auto transport = make_local_transport();
  std::atomic<int> failed = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < ranks; ++i) {
    threads.emplace_back([&, i] {
      Rank rank{i, ranks, transport.get(), "", &rendezvous};
      rank.is_thread = true;
      failed += run_checks(rank, args);
    });
  }
  for (auto& thread : threads) thread.join();
  return failed == 0 ? 0 : 1;
}

int run_processes(int ranks, const Args& args) {
  Rendezvous rendezvous;
  std::vector<pid_t> processes;
  for (int i = 0; i < ranks; ++i) {
    processes.push_back(fork());
    if (processes.back() != 0) continue;
    const auto transport = make_grpc_transport();
    return run_checks({i, ranks, transport.get(), "127.0.0.1:0", &rendezvous}, args);
  }
  int failed = 0;
  for (const pid_t process : processes) {
    int status = 0;
    waitpid(process, &status, 0);
    const bool dies = args.kill && process == processes.back();
    const bool well = dies ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
                           : WIFEXITED(status) && WEXITSTATUS(status) == 0;
    failed += well ? 0 : 1;
  }
  return failed == 0 ? 0 : 1;
}

/// A rank that the launcher has started.
int run_rank(const std::string& family, const std::string& rendezvous_file, const Args& args) {
  constexpr Seconds kSilence = 3;
  const auto world = mpi::start_world(family, {kSilence});
  Rendezvous rendezvous(rendezvous_file);
  const int code = run_checks({world->rank(), world->size(), world.get(), "", &rendezvous}, args);
  if (code == 0 && !args.kill) world->leave();
  if (code != 0) world->fail("a check has failed");
  return code;
}

int run(const std::vector<std::string>& words) {
  if (words.size() < 2) throw Error("local RANKS, grpc RANKS, openmpi FILE or mpich FILE");
  Args args;
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (words[i] == "kill") args.kill = true;
    if (words[i].rfind("large=", 0) == 0) args.large = std::stoull(words[i].substr(6)) << 20;
  }
  if (words[0] == "openmpi" || words[0] == "mpich") return run_rank(words[0], words[1], args);
  const int ranks = std::stoi(words[1]);
  if (ranks < 1 || ranks > kMostRanks) throw Error("too many ranks");
  return words[0] == "local" ? run_threads(ranks, args) : run_processes(ranks, args);
}

}  // namespace
}  // namespace evener

int main(int argc, char** argv) {
  try {
    return evener::run({argv + 1, argv + argc});
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
  }
}
