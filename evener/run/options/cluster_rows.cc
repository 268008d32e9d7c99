// The rows of the option table that say how the processes of a cluster find and trust each other,
// and those of `evener compare`.
#include <utility>

#include "evener/cluster/transport/mpi/load.h"
#include "evener/run/options/option_builders.h"

namespace evener {

namespace {

using C = ClusterOptions;

constexpr int kMostLocalNodes = 256;
constexpr int kMostServers = 256;
constexpr int kMostPeers = 65535;  // and slots of workers
constexpr int kMostThreads = 1024;
constexpr int kMostRuns = 1000;

constexpr ModeSet kPeerModes{Mode::train_peers, Mode::worker_peers};
/// Processes that others connect to.
constexpr ModeSet kListening = kPeerModes | ModeSet{Mode::coordinator, Mode::server};
constexpr ModeSet kConnected = kListening | Mode::worker;

// Reasons, as the end of a message that begins with the option's name.
constexpr const char* kLauncherSays = ": not with --transport mpi, whose launcher places the ranks";
constexpr const char* kStartedTogether =
    " has no effect under --transport mpi: MPI starts all ranks together";
constexpr const char* kMpiReports =
    " has no effect under --transport mpi: MPI reports ranks that are lost";

std::vector<std::string> transports() {
  std::vector<std::string> names{kGrpcTransport, "mpi"};
  for (const auto& family : mpi::kFamilies) names.push_back("mpi:" + family);
  return names;
}

std::vector<Row> who_takes_part() {
  return {
      integer_option(
          {"nodes", "", "train on so many worker processes on this machine, as a cluster"},
          &C::nodes, 0, kMostLocalNodes)
          .only({Mode::train, Mode::train_nodes, Mode::compare, Mode::compare_nodes})
          .except(kMpiModes, kLauncherSays),
      integer_option({"servers", "",
                      "so many processes keep the model, a part each; 0: the coordinator keeps it"},
                     &C::servers, 0, kMostServers)
          .only({Mode::train_nodes, Mode::coordinator})
          .except(kMpiModes, kLauncherSays)
          .in(Command::train, {.help = "so many processes keep the model, a part each (with "
                                       "--nodes); 0: this one keeps it"})
          .in(Command::coordinator, {.help = "so many `evener server` keep the model, a part each; "
                                             "0: it is kept here"}),
      text_option({"workers", "", "number of workers, such as 4, or from two to eight: 2:8"},
                  &C::workers)
          .value("N")
          .default_is("WORLD_SIZE")
          .only(Mode::coordinator),
      text_option({"peers", "", "train as one of these gossiping processes, without a coordinator"},
                  &C::peers)
          .value("HOST:PORT,...")
          .only(kPeerModes | ModeSet{Mode::train, Mode::worker})
          .except(kMpiModes, kLauncherSays)
          .in(Command::worker, {.help = "join these gossiping processes, some of which train "
                                        "already: they say what is trained"}),
      text_option({"coordinator", "", "address of the coordinator"}, &C::coordinator)
          .value("HOST:PORT")
          .default_is("MASTER_ADDR and MASTER_PORT")
          .only({Mode::worker, Mode::server}),
      integer_option({"rank", "",
                      "which of --peers this process is, from 0; a worker: the slot it would like"},
                     &C::rank, 0, kMostPeers)
          .or_auto<int>(&C::rank, kNotGiven)
          .only(kPeerModes | Mode::worker)
          .except(kMpiModes, kLauncherSays)
          .in(Command::train,
              {.help = "which of --peers this process is, from 0", .default_text = "RANK"})
          .in(Command::worker, {.help = "the slot that it would like; with --peers: which of them "
                                        "it is",
                                .default_text = "RANK"}),
      choice_option({"transport", "",
                     "mpi: train as one of the ranks that mpirun or srun has started; mpi:openmpi "
                     "or mpi:mpich where that does not say which"},
                    &C::transport, transports())
          .value("NAME")
          .only(kTrainModes),
      text_option({"device-strategy", "",
                   "how several --devices of one peer or rank train together (see evener "
                   "strategies)"},
                  &C::device_strategy)
          .value("NAME")
          .default_is("auto")
          .only(kMpiModes | Mode::train_peers),
      integer_option({"threads", "threads", "threads that update this server's part"}, &C::threads,
                     1, kMostThreads)
          .or_auto<int>(&C::threads, 0)
          .in(Command::server, {.default_text = "all cores"})
          .only(Mode::server),
  };
}

std::vector<Row> connections() {
  return {
      text_option({"listen", "", "where this process listens; port 0: any free port"}, &C::listen)
          .value("HOST:PORT")
          .default_is("a peer: its address; coordinator: 127.0.0.1:7070; server: 127.0.0.1:0")
          .only(kListening)
          .except(kMpiModes, kLauncherSays)
          .in(Command::train,
              {.help = "where this peer listens (with --peers)", .default_text = "its address"})
          .in(Command::worker,
              {.help = "where this peer listens (with --peers)", .default_text = "its address"})
          .in(Command::coordinator,
              {.help = "where workers connect", .default_text = "127.0.0.1:7070"})
          .in(Command::server, {.help = "where workers connect; port 0: any free port",
                                .default_text = "127.0.0.1:0"}),
      text_option({"address", "", "address that workers are told, if it is not --listen"},
                  &C::address)
          .value("HOST:PORT")
          .only(Mode::server),
      flag_option({"insecure", "", "listen beyond this machine without TLS"}, &C::insecure)
          .only(kListening)
          .except(kMpiModes, kLauncherSays)
          .needs({[](const TrainOptions& o) { return o.cluster.tls.empty(); },
                  "has no effect with --tls"})
          .in(Command::train, {.help = "listen beyond this machine without TLS (with --peers)"})
          .in(Command::worker, {.help = "listen beyond this machine without TLS (with --peers)"}),
      path_option({"tls", "", "mutual TLS with the files of this folder (see evener certs)"},
                  &C::tls)
          .value("FOLDER")
          .only(kConnected | Mode::status)
          .except(kMpiModes, kLauncherSays)
          .in(Command::train, {.help = "mutual TLS between --peers with the files of this folder "
                                       "(see evener certs)"}),
      text_option({"token", "", "secret that the processes of a cluster share"}, &C::token)
          .value("SECRET")
          .default_is("EVENER_TOKEN, or none")
          .only(kConnected | Mode::status)
          .except(kMpiModes, kLauncherSays)
          .in(Command::train, {.help = "secret that the --peers share"}),
      real_option({"wait-seconds", "", "how long to wait for processes that are not there"},
                  &C::wait_seconds, kPositive)
          .value("SECONDS")
          .only(kConnected)
          .except(kMpiModes, kStartedTogether)
          .in(Command::train, {.help = "how long to wait for the other --peers"})
          .in(Command::coordinator,
              {.help = "how long to wait for workers where there are too few"})
          .in(Command::worker, {.help = "how long to wait for a coordinator or peers that are not "
                                        "there, or a free slot"})
          .in(Command::server, {.help = "how long to wait for a coordinator that is not there"}),
      real_option({"heartbeat", "", "time between two heartbeats of a worker"}, &C::heartbeat,
                  kPositive)
          .value("SECONDS")
          .only(Mode::coordinator),
      real_option({"suspect", "", "silence until dasp waits for a worker no longer"}, &C::suspect,
                  kPositive)
          .value("SECONDS")
          .only(Mode::coordinator),
      real_option({"evict", "", "silence until a worker or peer counts as lost"}, &C::evict,
                  kPositive)
          .value("SECONDS")
          .only(kPeerModes | Mode::coordinator)
          .except(kMpiModes, kMpiReports)
          .in(Command::train, {.help = "silence until a peer counts as lost, and the others do its "
                                       "steps"})
          .in(Command::worker, {.help = "silence until a peer counts as lost, and the others do "
                                        "its steps"})
          .in(Command::coordinator, {.help = "silence until a worker counts as lost, and others "
                                             "get its rows"}),
  };
}

void add(std::vector<OptionInfo>& all, const char* group, const std::vector<Row>& rows) {
  for (const auto& row : rows) {
    all.push_back(row.per_call().info);
    all.back().group = group;
  }
}

}  // namespace

std::vector<OptionInfo> cluster_rows() {
  std::vector<OptionInfo> all;
  add(all, "Cluster", who_takes_part());
  add(all, "Cluster", connections());
  return all;
}

std::vector<OptionInfo> compare_rows() {
  using A = CompareArgs;
  std::vector<Row> rows{
      text_option(
          {"strategies", "", "names, each with :option=value parts; auto: what train chooses"},
          &A::strategies)
          .value("A,B,...")
          .default_is("sync,elastic,sma,adaptive-sgd; with --nodes bsp,asp,ssp,dssp,dasp"),
      text_option({"target", "",
                   "metric=value that a run has to reach, as p@1=0.7; without a value: 97 % of "
                   "the best strategy's"},
                  &A::target)
          .value("METRIC=X")
          .default_is("p@1"),
      path_option({"virtual", "", "in virtual time, on the devices of this file"}, &A::virtual_file)
          .value("FILE"),
      integer_option({"seeds", "", "runs of each strategy"}, &A::seeds, 1, kMostRuns),
      integer_option({"evaluations-per-epoch", "",
                      "more give finer times, but replicas are merged for each evaluation"},
                     &A::evaluations_per_epoch, 1, kMostRuns),
      text_option({"tune", "", "lr: the learning rate of each strategy, over --grid"}, &A::tune)
          .value("lr"),
      text_option({"grid", "", "factors of --learning-rate to tune over"}, &A::grid)
          .value("X,...")
          .needs(
              {[](const TrainOptions& o) { return !o.compare.tune.empty(); }, "needs --tune lr"}),
  };
  for (auto& row : rows) {
    const bool selects = row.info.name == "virtual";
    row = row.only(selects ? kCompareModes.without(Mode::compare_nodes) : kCompareModes);
  }
  std::vector<OptionInfo> all;
  add(all, "Comparison", rows);
  return all;
}

}  // namespace evener
