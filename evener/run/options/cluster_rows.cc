// The rows of the option table for clusters (membership, addresses, authentication) and for `evener
// compare`.
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
constexpr RealRange kSeconds{0, 1e6, true};  // eleven days

constexpr ModeSet kPeerModes{Mode::train_peers, Mode::worker_peers};
/// Modes in which other processes connect to this one.
constexpr ModeSet kListening = kPeerModes | ModeSet{Mode::coordinator, Mode::server};
constexpr ModeSet kConnected = kListening | Mode::worker;

// Reasons, as the end of a message that begins with the option's name.
constexpr const char* kSetByLauncher =
    ": not with --transport mpi, whose launcher places the ranks";
constexpr const char* kStartedTogether =
    " has no effect under --transport mpi: MPI starts all ranks together";
constexpr const char* kMpiReports =
    " has no effect under --transport mpi: MPI reports ranks that are lost";

std::vector<std::string> transports() {
  std::vector<std::string> names{kGrpcTransport, "mpi"};
  for (const auto& family : mpi::kFamilies) names.push_back("mpi:" + family);
  return names;
}

std::vector<Row> membership_options() {
  return {
      integer_option(
          {"nodes", "", "train on a cluster of this many worker processes on this machine"},
          &C::nodes, 0, kMostLocalNodes)
          .common(kWhichHardware)
          .only({Mode::train, Mode::train_nodes, Mode::compare, Mode::compare_nodes})
          .except(kMpiModes, kSetByLauncher),
      integer_option({"servers", "",
                      "number of server processes, each with a part of the model; 0: the "
                      "coordinator keeps it"},
                     &C::servers, 0, kMostServers)
          .only({Mode::train_nodes, Mode::coordinator})
          .except(kMpiModes, kSetByLauncher)
          .in(Command::train, {.help = "number of server processes, each with a part of the model "
                                       "(with --nodes); 0: this process keeps it"})
          .in(Command::coordinator, {.help = "number of `evener server` processes, each with a "
                                             "part of the model; 0: this process keeps it"}),
      text_option({"workers", "", "number of workers, such as 4; 2:8 for two to eight"},
                  &C::workers)
          .common(kWhichHardware)
          .value("N")
          .default_is("WORLD_SIZE")
          .only(Mode::coordinator),
      text_option({"peers", "", "train as one of these gossiping processes"}, &C::peers)
          .common(kWhichHardware)
          .value("HOST:PORT,...")
          .only(kPeerModes | ModeSet{Mode::train, Mode::worker})
          .except(kMpiModes, kSetByLauncher)
          .in(Command::worker, {.help = "join these gossiping processes; the options of the run "
                                        "come from those that are training"}),
      text_option({"coordinator", "", "address of the coordinator"}, &C::coordinator)
          .value("HOST:PORT")
          .default_is("MASTER_ADDR and MASTER_PORT")
          .only({Mode::worker, Mode::server}),
      integer_option(
          {"rank", "", "which of --peers this process is, from 0; a worker: the slot to request"},
          &C::rank, 0, kMostPeers)
          .or_auto<int>(&C::rank, kNotGiven)
          .only(kPeerModes | Mode::worker)
          .except(kMpiModes, kSetByLauncher)
          .in(Command::train,
              {.help = "which of --peers this process is, from 0", .default_text = "RANK"})
          .in(Command::worker,
              {.help = "the worker slot to request; with --peers: which of them this process is",
               .default_text = "RANK"}),
      choice_option({"transport", "",
                     "mpi: train as one of the ranks that mpirun or srun has started; mpi:openmpi, "
                     "mpi:mpich: of this library"},
                    &C::transport, transports())
          .common(kWhichHardware)
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

std::vector<Row> connection_options() {
  return {
      text_option({"listen", "", "where this process listens; port 0: any free port"}, &C::listen)
          .common(kWhichHardware, Mode::coordinator)
          .value("HOST:PORT")
          .default_is("a peer: its address; coordinator: 127.0.0.1:7070; server: 127.0.0.1:0")
          .only(kListening)
          .except(kMpiModes, kSetByLauncher)
          .in(Command::train,
              {.help = "where this peer listens (with --peers)", .default_text = "its address"})
          .in(Command::worker,
              {.help = "where this peer listens (with --peers)", .default_text = "its address"})
          .in(Command::coordinator,
              {.help = "where workers connect", .default_text = "127.0.0.1:7070"})
          .in(Command::server, {.help = "where workers connect; port 0: any free port",
                                .default_text = "127.0.0.1:0"}),
      text_option(
          {"address", "", "address at which workers reach this server, if it is not --listen"},
          &C::address)
          .value("HOST:PORT")
          .only(Mode::server),
      flag_option({"insecure", "", "listen beyond this machine without TLS"}, &C::insecure)
          .only(kListening)
          .except(kMpiModes, kSetByLauncher)
          .needs(condition([](const TrainOptions& o) { return o.cluster.tls.empty(); },
                           "has no effect with --tls"))
          .in(Command::train, {.help = "listen beyond this machine without TLS (with --peers)"})
          .in(Command::worker, {.help = "listen beyond this machine without TLS (with --peers)"}),
      path_option({"tls", "", "mutual TLS with the files of this folder (see evener certs)"},
                  &C::tls)
          .common(kWhichHardware, Mode::coordinator)
          .value("FOLDER")
          .only(kConnected | Mode::status)
          .except(kMpiModes, kSetByLauncher)
          .in(Command::train, {.help = "mutual TLS between --peers with the files of this folder "
                                       "(see evener certs)"}),
      text_option({"token", "", "secret that the processes of a cluster share"}, &C::token)
          .value("SECRET")
          .default_is("EVENER_TOKEN, or none")
          .only(kConnected | Mode::status)
          .except(kMpiModes, kSetByLauncher)
          .in(Command::train, {.help = "secret that the --peers share"}),
      path_option({"token-file", "", "file whose first line is the secret of --token"},
                  &C::token_file)
          .value("FILE")
          .only(kConnected | Mode::status)
          .except(kMpiModes, kSetByLauncher)
          .needs(condition([](const TrainOptions& o) { return o.cluster.token.empty(); },
                           "has no effect with --token: choose one")),
      real_option({"wait-seconds", "", "how long to wait for processes that are not connected"},
                  &C::wait_seconds, kSeconds)
          .value("SECONDS")
          .only(kConnected)
          .except(kMpiModes, kStartedTogether)
          .in(Command::train, {.help = "how long to wait for the other --peers"})
          .in(Command::coordinator, {.help = "how long to wait for workers if there are too few"})
          .in(Command::worker,
              {.help = "how long to wait for a coordinator, for peers or for a free slot"})
          .in(Command::server, {.help = "how long to wait for the coordinator"}),
      real_option({"heartbeat", "", "time between two heartbeats of a worker"}, &C::heartbeat,
                  kSeconds)
          .value("SECONDS")
          .only(Mode::coordinator),
      real_option({"suspect", "", "silence after which dasp no longer waits for a worker"},
                  &C::suspect, kSeconds)
          .value("SECONDS")
          .only(Mode::coordinator),
      real_option({"evict", "", "silence after which a worker or peer counts as lost"}, &C::evict,
                  kSeconds)
          .value("SECONDS")
          .only(kPeerModes | Mode::coordinator)
          .except(kMpiModes, kMpiReports)
          .in(Command::train,
              {.help = "silence after which a peer counts as lost, and the others do its steps"})
          .in(Command::worker,
              {.help = "silence after which a peer counts as lost, and the others do its steps"})
          .in(Command::coordinator,
              {.help = "silence after which a worker counts as lost, and others get its rows"}),
      real_option(
          {"stall-timeout", "",
           "time without progress after which a device, or a worker or server that still sends "
           "heartbeats, counts as lost; auto: ten times its longest step, at least 60 s, and "
           "600 s for the first one"},
          &C::stall_timeout, kSeconds)
          .or_auto<double>(&C::stall_timeout, 0)
          .value("SECONDS")
          .only({Mode::train, Mode::train_nodes, Mode::train_peers, Mode::train_mpi_gossip,
                 Mode::train_mpi_server, Mode::coordinator}),
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
  add(all, "Cluster", membership_options());
  add(all, "Cluster", connection_options());
  return all;
}

std::vector<OptionInfo> compare_rows() {
  using A = CompareArgs;
  std::vector<Row> rows{
      text_option({"strategies", "", "names, each with :option=value parts"}, &A::strategies)
          .value("A,B,...")
          .default_is("sync,sync:split=speed,adaptive-sgd,auto, and adaptive-hogbatch if a CPU is "
                      "beside an accelerator; with --nodes bsp,asp,ssp,dssp,dasp"),
      choice_option({"equal", "",
                     "what every run gets: the same training time, or the same number of epochs"},
                    &A::equal, {"seconds", "epochs"}),
      text_option({"reference", "", "the strategy whose time for --epochs every run gets"},
                  &A::reference)
          .value("NAME")
          .default_is("sync, else the first of --strategies")
          .needs(condition([](const TrainOptions& o) { return o.compare.equal == "seconds"; },
                           "has no effect with --equal epochs"))
          .needs(condition([](const TrainOptions& o) { return o.seconds == 0; },
                           "has no effect with --seconds")),
      text_option({"target", "",
                   "metric=value that a run has to reach, as p@1=0.7; without a value: 97 % of "
                   "the best strategy's"},
                  &A::target)
          .value("METRIC=X")
          .default_is("p@1"),
      path_option({"virtual", "", "compare in virtual time, on the devices of this cluster file"},
                  &A::virtual_file)
          .value("FILE"),
      integer_option({"seeds", "", "runs of each strategy"}, &A::seeds, 1, kMostRuns),
      integer_option(
          {"evaluations-per-epoch", "",
           "evaluations in each epoch of --reference, and as many of the other runs, evenly over "
           "the time (with --seconds: 20 times this number); more give finer times, but each one "
           "merges the replicas"},
          &A::evaluations_per_epoch, 1, kMostRuns),
      text_option({"tune", "", "lr: tune the learning rate of each strategy over --grid"}, &A::tune)
          .value("lr"),
      text_option({"grid", "", "factors of --learning-rate to tune over"}, &A::grid)
          .value("X,...")
          .needs(condition([](const TrainOptions& o) { return !o.compare.tune.empty(); },
                           "needs --tune lr")),
  };
  for (auto& row : rows) {
    const bool selects = row.info.name == "virtual";
    row = row.only(selects ? kCompareModes.without(Mode::compare_nodes) : kCompareModes);
    // Those that a first comparison does not need are in --help all.
    const bool usual = row.info.name != "reference" && row.info.name != "grid" &&
                       row.info.name != "evaluations-per-epoch";
    if (usual) row = row.common(kWhichComparison);
  }
  std::vector<OptionInfo> all;
  add(all, "Comparison", rows);
  return all;
}

}  // namespace evener
