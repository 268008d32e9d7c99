#include "evener/app/commands/train_mpi.h"

#include <algorithm>
#include <csignal>
#include <limits>
#include <mutex>

#include <fmt/format.h>
#include <unistd.h>

#include "evener/app/commands/train_result.h"
#include "evener/app/shell/output.h"
#include "evener/app/shell/signals.h"
#include "evener/cluster/parameter_server/worker.h"
#include "evener/cluster/transport/mpi/load.h"
#include "evener/core/cores.h"
#include "evener/core/error.h"
#include "evener/run/options/strategy_for.h"
#include "evener/run/session/backends.h"
#include "evener/run/session/cluster_job.h"

namespace evener {

namespace {

constexpr Seconds kForever = std::numeric_limits<Seconds>::infinity();

/// The first worker that the coordinator gave up, and why; empty: none.
class HungRank {
 public:
  void set(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (why_.empty()) why_ = why;
  }
  std::string get() const {
    const std::lock_guard lock(mutex_);
    return why_;
  }

 private:
  mutable std::mutex mutex_;
  std::string why_;
};

/// One rank of the run.
class Rank {
 public:
  Rank(std::shared_ptr<mpi::World> world, TrainOptions options, std::string device_strategy,
       Shell& shell)
      : world_(std::move(world)),
        options_(std::move(options)),
        device_strategy_(std::move(device_strategy)),
        shell_(shell) {
    if (!options_.emulate.empty()) throw UsageError("--emulate: not with --transport mpi");
    if (options_.devices == "auto") options_.devices = own_share_of_cores();
    constexpr std::string_view kMark = "{rank}";
    const std::size_t at = options_.output.find(kMark);
    has_own_directory_ = at != std::string::npos;
    if (has_own_directory_) {
      options_.output.replace(at, kMark.size(), std::to_string(world_->rank()));
    }
  }

  void run() {
    const bool gossips = options_.strategy == "auto" ||
                         parse_strategy(options_.strategy).strategy->sharing == Sharing::peers;
    if (gossips) return train_as_peer();
    strategy_for_nodes(options_);  // throws if the strategy is not for nodes
    if (world_->rank() == 0) return coordinate();
    work();
  }

 private:
  bool is_first() const { return world_->rank() == 0; }

  /// This rank's share of the machine's cores, unless the launcher or OMP_NUM_THREADS set it.
  std::string own_share_of_cores() const {
    if (shell_.environment.automatic_device != "cpu") return shell_.environment.automatic_device;
    const auto all = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    const int share = std::max(1, all / world_->neighbours());
    return fmt::format("cpu:{}", std::min(share, available_cores()));
  }

  /// A lost rank ends the run as a signal does: with a checkpoint.
  std::function<int()> interrupted() const {
    return [world = world_, hung = hung_] {
      const int signal = caught_signal();
      return signal != 0 || (world->lost().empty() && hung->get().empty()) ? signal : SIGTERM;
    };
  }
  /// Which rank ended the run, and why; empty: none.
  std::string lost() const {
    std::string why = world_->lost();
    return why.empty() ? hung_->get() : why;
  }
  bool is_broken() const { return caught_signal() == 0 && !lost().empty(); }

  RunContext context() const {
    RunContext context = run_context(options_, shell_);
    context.interrupted = interrupted();
    if (!is_first()) {
      context.reporter.stream = nullptr;
      context.training_begins = [] { catch_signals(""); };
      end_on_signals("");
    }
    return context;
  }

  void train_as_peer() {
    GossipPeerOptions peers;
    peers.self = world_->rank();
    for (int i = 0; i < world_->size(); ++i) peers.addresses.push_back(std::to_string(i));
    peers.transport = world_;
    peers.patience = peers.silence = kForever;  // MPI reports lost ranks
    PeerBackendOptions backend;
    backend.peers = std::move(peers);
    backend.device_strategy = device_strategy_;
    backend.keeps_run = is_first() || (has_own_directory_ && options_.resume.empty());
    finish(train_watched(options_, *make_peer_backend(std::move(backend)), context()));
  }

  void coordinate() {
    CoordinatorOptions nodes;
    nodes.listen = "";
    nodes.transport = world_;
    nodes.least = nodes.most = world_->size() - 1;
    nodes.patience = kForever;
    nodes.stall.fixed = options_.cluster.stall_timeout;
    nodes.interrupted = interrupted();
    // A rank that hangs cannot be replaced: it ends the run as a rank that has ended does.
    nodes.lost = [hung = hung_](int slot, const std::string& why) {
      hung->set(fmt::format("rank {} is lost: {}", slot + 1, why));
    };
    const RunContext run = context();
    auto backend = make_cluster_backend(make_coordinator(nodes));
    TrainResult result;
    try {
      result = train_watched(options_, *backend, run);
    } catch (const std::exception& problem) {
      backend.reset();  // ends the workers
      if (is_broken()) throw Error(fmt::format("{}; {}", lost(), problem.what()));
      throw;
    }
    backend.reset();
    finish(result);
  }

  void work() {
    WorkerOptions worker;
    worker.coordinator = "0";
    worker.transport = world_;
    worker.name = fmt::format("rank {}", world_->rank());
    worker.rank = world_->rank() - 1;
    worker.patience = kForever;
    // All ranks see the launcher's signals and the loss of a rank. Rank 0 then ends the run, after
    // the tasks in progress.
    const auto ended = [world = world_] { return world->has_lost(0) ? SIGTERM : 0; };
    worker.interrupted = ended;
    NodeContext context;
    context.devices = options_.devices;
    context.strategy = device_strategy_;
    context.strategy_option = "--device-strategy";
    context.memory_limit = options_.memory_limit;
    context.cache = shell_.environment.cache;
    context.opening.cache_directory = shell_.environment.cache.directory;
    check_devices(context);
    catch_signals("");
    constexpr Seconds kStep = 5;  // a launcher may leave a rank alone that hangs
    const SignalDeadline deadline(kStep, ended);
    shell_.exit_code = run_worker(worker, [&](const Job& job, int slot) {
      return make_node_work(job, slot, context, [](const std::string&) {});
    });
    if (is_broken()) throw Error(lost());
  }

  void finish(const TrainResult& result) {
    const std::string resume_command =
        fmt::format("mpirun -n {} evener train --transport mpi --resume", world_->size());
    if (is_broken() && result.ended == "signal") {
      if (!is_first()) throw Error(lost());
      throw Error(fmt::format("{}; go on with: {} {}", lost(), resume_command, result.directory));
    }
    if (is_first()) return print_result(result, options_, resume_command, shell_);
    if (result.signal != 0) shell_.exit_code = 128 + result.signal;
  }

  std::shared_ptr<mpi::World> world_;
  std::shared_ptr<HungRank> hung_ = std::make_shared<HungRank>();
  TrainOptions options_;
  std::string device_strategy_;  // how several devices of one rank train together
  Shell& shell_;
  bool has_own_directory_ = false;  // -o contains {rank}: each rank has a run directory
};

}  // namespace

std::string mpi_family_of(const std::string& transport, const Environment& environment) {
  if (transport == kGrpcTransport) return "";
  if (const std::size_t colon = transport.find(':'); colon != std::string::npos) {
    return transport.substr(colon + 1);
  }
  if (environment.mpi.empty()) {
    throw UsageError(
        "--transport mpi: no launcher of MPI has started this: give `mpirun -n 4 evener train ...` "
        "or `srun --mpi=pmix evener train ...`");
  }
  return environment.mpi;
}

void train_by_mpi(const std::string& family, const std::function<TrainOptions()>& options,
                  const std::string& device_strategy, Shell& shell) {
  const auto world = mpi::start_world(family);
  if (world->size() < 2) {
    world->leave();
    throw UsageError(fmt::format(
        "--transport mpi: {} says that this is the only rank: start several with `mpirun -n 4 "
        "evener train ...` of that library (or name the other with mpi:openmpi, mpi:mpich)",
        world->library()));
  }
  try {
    Rank(world, options(), device_strategy, shell).run();
    flush_output();
    if (shell.exit_code == 0) return world->leave();
    world->fail(fmt::format("it was ended (exit code {})", shell.exit_code));
  } catch (const std::exception& problem) {
    // Printed before the other ranks are notified: a launcher may end all ranks when one exits.
    const bool is_first = world->rank() == 0;
    if (is_first) print_error(message_of(problem));
    const bool first_reports = world->fail(message_of(problem));
    if (!is_first && !first_reports) throw;
    shell.exit_code = dynamic_cast<const UsageError*>(&problem) != nullptr ? 2 : 1;
  }
}

}  // namespace evener
