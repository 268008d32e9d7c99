// The commands for clusters: wrong usage, and runs on nodes of this machine.
#include <csignal>
#include <filesystem>
#include <map>
#include <sstream>

#include "tests/app/command.h"

namespace evener {
namespace {

class ClusterCommand : public CommandTest {
 protected:
  std::vector<std::string> coordinator(const std::vector<std::string>& more) const {
    std::vector<std::string> all = training("cluster");
    all.front() = "coordinator";
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  /// The address at which a coordinator waits for workers.
  static std::string address_of(Running& coordinator) {
    EXPECT_TRUE(coordinator.wait_for(" at "));
    EXPECT_TRUE(coordinator.wait_for("\n"));
    const std::string& text = coordinator.stderr_text();
    const std::string address = text.substr(text.find(" at ") + 4);
    return address.substr(0, address.find('\n'));
  }
};

TEST_F(ClusterCommand, WrongUsageIsNamed) {
  expect_error(coordinator({}), 2, "--workers is missing");
  expect_error(coordinator({"--workers", "8:2"}), 2, "--workers 8:2");
  expect_error(coordinator({"--workers", "two"}), 2, "--workers two");
  expect_error(coordinator({"--workers", "0"}), 2, "--workers 0");
  expect_error(coordinator({"--workers", "5000"}), 2, "at most 4096");
  expect_error(coordinator({"--workers", "2", "--listen", "7070"}), 2, "--listen 7070");
  expect_error(coordinator({"--workers", "2", "--listen", "0.0.0.0:0"}), 2, "--insecure");
  expect_error(coordinator({"--workers", "2", "--tls", folder_ / "none"}), 2, "evener certs");
  expect_error(coordinator({"--workers", "2", "--strategy", "sync", "--listen", "127.0.0.1:0"}), 2,
               "nodes have bsp, asp, ssp, dssp, dasp");
  expect_error(coordinator({"--workers", "2", "--evict", "1", "--listen", "127.0.0.1:0"}), 2,
               "--evict 1");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "cluster"));
  expect_error({"worker"}, 2, "--coordinator is missing");
  const std::string peers = "127.0.0.1:1,127.0.0.1:2";
  expect_error({"worker", "--peers", peers, "--coordinator", "127.0.0.1:1", "--rank", "0"}, 2,
               "--coordinator and --peers: choose one");
  expect_error({"worker", "--peers", peers}, 2, "--rank is missing");
  expect_error({"worker", "--peers", peers, "--rank", "2"}, 2, "--rank 2: there are 2 --peers");
  expect_error({"worker", "--peers", peers, "--rank", "1", "--listen", "0.0.0.0:0"}, 2,
               "--insecure");
  expect_error({"worker", "--peers", peers, "--rank", "1", "--emulate", "x0.5"}, 2,
               "--emulate: not with --peers");
  expect_error({"worker", "--coordinator", "127.0.0.1:1", "-o", "run"}, 2,
               "--output needs --peers");
  expect_error({"worker", "--coordinator", "127.0.0.1:1", "--listen", "127.0.0.1:0"}, 2,
               "--listen needs --peers");
  expect_error({"worker", "--peers", peers, "--rank", "1", "--wait-seconds", "0.1", "--quiet"}, 1,
               "no peer has answered for 0.1 s");
  expect_error({"worker", "--coordinator", "here"}, 2, "--coordinator here");
  expect_error({"worker", "--coordinator", "127.0.0.1:1", "--devices", "gpu"}, 2, "gpu");
  expect_error(
      {"worker", "--coordinator", "127.0.0.1:1", "--devices", "cpu:1,cpu:1", "--strategy", "bsp"},
      2, "strategy bsp is for nodes; the devices of one node train by one of ");
  expect_error(
      {"worker", "--coordinator", "127.0.0.1:1", "--devices", "cpu:1", "--strategy", "sync"}, 2,
      "--strategy is for several --devices");
  const auto peer = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all{"--peers", "127.0.0.1:1,127.0.0.1:2", "--rank", "0"};
    all.insert(all.end(), more.begin(), more.end());
    return training("n", all);
  };
  expect_error(peer({"--devices", "cpu:1", "--device-strategy", "sync"}), 2,
               "--device-strategy is for several --devices");
  expect_error(peer({"--devices", "cpu:1,cpu:1", "--device-strategy", "gossip"}), 2,
               "strategy gossip is for nodes");
  expect_error(peer({"--strategy", "sync"}), 2, "peers without a coordinator have gossip");
  expect_error(training("n", {"--device-strategy", "sync"}), 2,
               "--device-strategy needs --peers or --transport mpi");
  expect_error(training("n", {"--evict", "5"}), 2, "--evict needs --peers");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "n"));
  expect_error({"server"}, 2, "--coordinator is missing");
  expect_error({"server", "--coordinator", "a:1", "--listen", "0.0.0.0:0"}, 2, "--insecure");
  expect_error({"server", "--coordinator", "a:1", "--address", "b"}, 2, "--address b");
  expect_error(training("n", {"--servers", "2"}), 2, "--servers needs --nodes");
  expect_error({"status", "127.0.0.1:x"}, 2, "COORDINATOR 127.0.0.1:x");
  expect_error(training("n", {"--nodes", "2", "--devices", "cpu:1"}), 2, "--devices");
  expect_error(training("n", {"--transport", "mpi"}), 2, "mpirun -n 4 evener train");
  expect_error(training("n", {"--transport", "mpj"}), 2, "did you mean 'mpi'?");
  expect_error(training("n", {"--transport", "mpi:openmp"}), 2, "did you mean 'mpi:openmpi'?");
  expect_error(training("n", {"--transport", "mpi:mpich", "--nodes", "2"}), 2, "--nodes: not with");
}

TEST_F(ClusterCommand, OptionsWithoutEffectAreRefused) {
  const std::vector<std::pair<std::vector<std::string>, const char*>> refused{
      {training("n", {"--insecure"}), "--insecure needs --peers"},
      {training("n", {"--wait-seconds", "5"}), "--wait-seconds needs --peers"},
      {training("n", {"--nodes", "2", "--token", "x"}), "--token needs --peers"},
      {training("n", {"--nodes", "2", "--memory-limit", "5"}), "--memory-limit: with --nodes"},
      {training("n", {"--transport", "mpi:openmpi", "--wait-seconds", "5"}),
       "--wait-seconds has no effect under --transport mpi: MPI starts all ranks together"},
      {training("n", {"--patience", "3"}), "--patience needs --early-stop"},
      {training("n", {"--momentum", "0.5"}), "--momentum needs --optimizer momentum"},
      {training("n", {"--decay", "constant", "--decay-factor", "0.5"}), "--decay-factor needs"},
      {{"train", folder_ / "train.txt", "--eval-every", "2"}, "--eval-every needs something to"},
      {coordinator({"--workers", "2", "--emulate", "1=x0.5"}),
       "--emulate: only workers can be slowed down"},
      {coordinator({"--workers", "2", "--insecure", "--tls", "c"}),
       "--insecure has no effect with"},
      {{"worker", "--coordinator", "a:1", "--evict", "5"}, "--evict needs --peers"},
      {{"worker", "--coordinator", "a:1", "--insecure"}, "--insecure needs --peers"},
      {{"profile", "cpu:1", folder_ / "train.txt", "--epochs", "3"}, "--epochs: a profile is"},
      {{"compare", folder_ / "train.txt", "--grid", "1,2"}, "--grid needs --tune lr"}};
  for (const auto& [arguments, words] : refused) expect_error(arguments, 2, words);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "n"));
}

TEST_F(ClusterCommand, ConfigFilesGiveClusterOptions) {
  put_contents(folder_ / "train.toml", "nodes = 2\nstrategy = \"bsp\"\n");
  const Outcome outcome = run(training("nodes", {"--config", folder_ / "train.toml", "--quiet"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string config = contents_of(folder_ / "nodes/config.toml");
  EXPECT_THAT(config, AllOf(HasSubstr("strategy = \"bsp\""), Not(HasSubstr("nodes")),
                            Not(HasSubstr("devices = "))));
  // The written config file starts the same kind of run; cluster options are given again.
  const Outcome again = run({"train", "--config", folder_ / "nodes/config.toml", "--nodes", "2",
                             "--quiet", "-o", folder_ / "again"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(contents_of(folder_ / "again/last.safetensors"),
            contents_of(folder_ / "nodes/last.safetensors"));

  put_contents(folder_ / "worker.toml", "coordinator = \"127.0.0.1:1\"\nwait-seconds = 0.1\n");
  expect_error({"worker", "--config", folder_ / "worker.toml", "--quiet"}, 1,
               "127.0.0.1:1: no coordinator for 0.1 s");
  put_contents(folder_ / "worker.toml", "coordinator = \"127.0.0.1:1\"\nepochs = 3\n");
  expect_error({"worker", "--config", folder_ / "worker.toml"}, 2,
               "worker.toml:2: --epochs is not an option of evener worker, but of evener train");
}

TEST_F(ClusterCommand, TokensAreWrittenNowhere) {
  const std::string token = "a-secret-of-the-cluster";
  Running running(coordinator({"--workers", "1", "--listen", "127.0.0.1:0", "--token", token}),
                  environment_, folder_ / "out");
  const Outcome worker =
      run({"worker", "--coordinator", address_of(running), "--token", token, "--quiet"});
  EXPECT_EQ(worker.code, 0) << worker.err;
  EXPECT_THAT(worker.err, HasSubstr("warning: --token: other users of this machine can see"));
  EXPECT_EQ(running.finish(), 0) << running.stderr_text();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / "cluster")) {
    if (!entry.is_regular_file()) continue;
    EXPECT_EQ(contents_of(entry.path()).find(token), std::string::npos) << entry.path();
  }
  EXPECT_EQ(running.stderr_text().find(token), std::string::npos);
}

TEST_F(ClusterCommand, TokensComeFromAFile) {
  put_contents(folder_ / "token", "a-secret-of-the-cluster\r\nsecond line\n");
  put_contents(folder_ / "other", "another\n");
  put_contents(folder_ / "empty", "\n");
  Running running(
      coordinator({"--workers", "1", "--listen", "127.0.0.1:0", "--token-file", folder_ / "token"}),
      environment_, folder_ / "out");
  const std::string address = address_of(running);
  const auto worker = [&](const std::string& file) {
    return std::vector<std::string>{"worker",  "--coordinator", address,
                                    "--quiet", "--token-file",  folder_ / file};
  };
  expect_error(worker("other"), 1, "token");
  expect_error(worker("empty"), 2, "--token-file");
  expect_error(worker("missing"), 2, "missing: cannot open");
  environment_.push_back("EVENER_TOKEN=a-secret-of-the-cluster");
  EXPECT_EQ(run({"status", address}).code, 0);
  const Outcome outcome = run(worker("token"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, Not(HasSubstr("warning")));
  EXPECT_EQ(running.finish(), 0) << running.stderr_text();
}

TEST_F(ClusterCommand, AMissingCoordinatorIsReported) {
  expect_error({"status", "127.0.0.1:1"}, 1, "127.0.0.1:1: ");
  expect_error({"worker", "--coordinator", "127.0.0.1:1", "--wait-seconds", "0.1", "--quiet"}, 1,
               "no coordinator");
  expect_error({"server", "--coordinator", "127.0.0.1:1", "--wait-seconds", "0.1", "--quiet"}, 1,
               "no coordinator");
  expect_error(coordinator({"--workers", "1", "--listen", "127.0.0.1:0", "--wait-seconds", "0.1",
                            "--quiet"}),
               1, "no worker");
}

TEST_F(ClusterCommand, NodesOfThisMachineTrainOneModel) {
  const Outcome outcome =
      run(training("nodes", {"--nodes", "2", "--strategy", "asp", "--json", "--quiet"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result.at("strategy"), "asp");
  ASSERT_EQ(result.at("devices").size(), 2U);
  std::size_t rows = 0;
  for (const auto& node : result.at("devices")) {
    rows += node.at("rows").get<std::size_t>();
    EXPECT_GT(node.at("bytes"), 0);
    std::size_t counted = 0;
    for (const auto& count : node.at("staleness_counts")) counted += count.get<std::size_t>();
    EXPECT_EQ(counted, node.at("updates").get<std::size_t>()) << "a push is a task of one update";
  }
  EXPECT_EQ(result.at("staleness_bounds").size(), 7U);
  EXPECT_EQ(rows, 5U * 100);
  EXPECT_GT(result.at("metrics").at("p@1"), 0.5);
  EXPECT_EQ(run({"test", folder_ / "nodes", folder_ / "test.txt"}).code, 0);

  // The work of each worker, after each epoch.
  std::istringstream metrics(contents_of(folder_ / "nodes/metrics.jsonl"));
  std::map<std::string, json> last;
  for (std::string line; std::getline(metrics, line);) {
    const json record = json::parse(line);
    if (record.at("kind") == "worker") last[record.at("of")] = record;
  }
  ASSERT_EQ(last.size(), 2U);
  EXPECT_EQ(last["node 0"].at("rows").get<int>() + last["node 1"].at("rows").get<int>(), 500);
  EXPECT_GT(last["node 1"].at("waiting_share"), 0);
}

TEST_F(ClusterCommand, AModelThatServersKeepIsTheSame) {
  std::string models[2];
  for (const char* servers : {"0", "2"}) {
    const std::string name = std::string("servers") + servers;
    const Outcome outcome = run(training(name, {"--nodes", "2", "--servers", servers, "--strategy",
                                                "bsp", "--server-momentum", "0.5", "--quiet"}));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    models[*servers == '2'] = contents_of(folder_ / (name + "/last.safetensors"));
  }
  EXPECT_FALSE(models[0].empty());
  EXPECT_EQ(models[0], models[1]) << "to the bit";
}

TEST_F(ClusterCommand, ADivergedRunRollsBackAndLowersItsLearningRate) {
  // The rate rises until the squared loss overflows, after the first checkpoints.
  const std::vector<std::string> rising{
      "--nodes",         "2", "--strategy", "bsp",      "--loss",   "squared", "--optimizer", "sgd",
      "--warmup-epochs", "8", "--decay",    "constant", "--epochs", "8",       "--json"};
  auto high = rising;
  high.insert(high.end(), {"--checkpoint-every", "1", "--learning-rate", "30"});
  const Outcome saved = run(training("saved", high));
  ASSERT_EQ(saved.code, 0) << saved.err;
  EXPECT_THAT(saved.err, HasSubstr("rolled back to the last checkpoint (1 of 3 times), and on with "
                                   "--learning-rate 3: "));
  EXPECT_THAT(json::parse(saved.out).at("notes").dump(), HasSubstr("rolled back"));
  EXPECT_EQ(json::parse(saved.out).at("epochs"), 8);

  auto hopeless = rising;
  hopeless.insert(hopeless.end(), {"--checkpoint-every", "1", "--learning-rate", "1e9"});
  const Outcome lost = run(training("lost", hopeless));
  EXPECT_EQ(lost.code, 1) << lost.err;
  EXPECT_THAT(lost.err, HasSubstr("diverged"));
}

TEST_F(ClusterCommand, ThePrintedCommandResumesTheRun) {
  Running running(training("cut", {"--nodes", "2", "--epochs", "5000", "--strategy", "bsp"}),
                  environment_, folder_ / "out");
  ASSERT_TRUE(running.wait_for("epoch 2/5000"));
  running.send(SIGINT);
  ASSERT_EQ(running.finish(), 130);
  EXPECT_THAT(running.stderr_text(),
              HasSubstr("go on with: evener train --nodes 2 --resume " + (folder_ / "cut")));
  expect_error({"train", "--resume", folder_ / "cut"}, 2, "that run was a cluster's");
  Running again({"train", "--nodes", "2", "--resume", folder_ / "cut"}, environment_,
                folder_ / "again");
  ASSERT_TRUE(again.wait_for("/5000"));
  again.send(SIGINT);
  EXPECT_EQ(again.finish(), 130);
}

TEST_F(ClusterCommand, NodesUseDaspByDefault) {
  const Outcome outcome = run(training("auto", {"--nodes", "2", "--emulate", "node1=x0.5"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("strategy  dasp"));
}

TEST_F(ClusterCommand, OnlyConnectedWorkersAreListed) {
  Running running(coordinator({"--workers", "1:3", "--listen", "127.0.0.1:0"}), environment_,
                  folder_ / "out");
  const Outcome worker = run({"worker", "--coordinator", address_of(running), "--quiet"});
  EXPECT_EQ(worker.code, 0) << worker.err;
  EXPECT_EQ(running.finish(), 0) << running.stderr_text();
  EXPECT_THAT(running.stderr_text(), HasSubstr("training on node 0 by dasp ("));
  EXPECT_THAT(contents_of(folder_ / "out"),
              AllOf(HasSubstr("\ndevice    0 node 0: "), Not(HasSubstr("node 1")),
                    HasSubstr("\n          2 slots without a worker\n")));
  EXPECT_THAT(contents_of(folder_ / "cluster/metrics.jsonl"),
              AllOf(HasSubstr("\"node 0\""), Not(HasSubstr("\"node 1\""))));
}

TEST_F(ClusterCommand, AWorkerMayHaveItsOwnCopyOfTheData) {
  std::filesystem::create_directory(folder_ / "copy");
  std::filesystem::copy(folder_ / "train.txt", folder_ / "copy/train.txt");
  Running running(coordinator({"--workers", "1", "--listen", "127.0.0.1:0"}), environment_,
                  folder_ / "out");
  const std::string address = address_of(running);
  std::filesystem::remove(folder_ / "train.txt");  // as on another machine
  expect_error({"worker", "--coordinator", address, "--quiet"}, 2,
               "train.txt: is where the coordinator has the data, and not here: name a copy");
  const Outcome worker =
      run({"worker", "--coordinator", address, "--data", folder_ / "copy", "--quiet"});
  EXPECT_EQ(worker.code, 0) << worker.err;
  EXPECT_EQ(running.finish(), 0) << running.stderr_text();
}

TEST_F(ClusterCommand, CertificatesProtectACluster) {
  ASSERT_EQ(run({"certs", folder_ / "certs"}).code, 0);
  expect_error({"certs", folder_ / "certs"}, 2, "has an authority already");
  expect_error({"certs", folder_ / "more", "--hosts", ""}, 2, "--hosts");
  expect_error({"certs", folder_ / "more", "--days", "0"}, 2,
               "--days: '0' is not valid; a whole number, 1 .. 36500, is needed");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "more/ca.pem"));
  expect_error({"worker", "--coordinator", "127.0.0.1:1", "--tls", folder_ / "none"}, 2,
               "none: there is no ca.pem in it; copy it from the machine on which `evener certs`");
  Running running(
      coordinator({"--workers", "1", "--listen", "127.0.0.1:0", "--tls", folder_ / "certs"}),
      environment_, folder_ / "out");
  const std::string address = address_of(running);
  expect_error(coordinator({"--workers", "1", "--listen", address}), 1, "Address already in use");
  // Without a certificate the connection fails before a refusal.
  expect_error({"worker", "--coordinator", address, "--wait-seconds", "0.1", "--quiet"}, 1,
               "no coordinator");
  const Outcome worker =
      run({"worker", "--coordinator", address, "--tls", folder_ / "certs", "--quiet"});
  EXPECT_EQ(worker.code, 0) << worker.err;
  EXPECT_EQ(running.finish(), 0) << running.stderr_text();
}

TEST_F(ClusterCommand, BadCertificatesAreNamedAtTheStart) {
  const std::string certs = folder_ / "certs";
  ASSERT_EQ(run({"certs", certs}).code, 0);
  expect_error({"certs", folder_ / "more", "--hosts", "node1:7070"}, 2, "'node1:7070' has a port");
  expect_error({"certs", folder_ / "more", "--hosts", "node 1"}, 2, "'node 1' is neither");
  const std::string peers = "127.0.0.2:1,127.0.0.1:2";
  expect_error({"worker", "--peers", peers, "--rank", "0", "--tls", certs}, 2,
               "server.pem: is not for 127.0.0.2, where others reach this process");
  expect_error({"server", "--coordinator", "127.0.0.1:1", "--address", "node7:1", "--tls", certs},
               2, "server.pem: is not for node7");
  put_contents(folder_ / "certs/worker.key", "damaged");
  expect_error({"worker", "--coordinator", "127.0.0.1:1", "--tls", certs}, 1,
               "worker.key: is damaged");
  expect_error({"status", "127.0.0.1:1", "--tls", certs}, 1, "worker.key: is damaged");
  put_contents(folder_ / "certs/coordinator.pem", "damaged");
  expect_error(coordinator({"--workers", "2", "--tls", certs}), 1, "coordinator.pem: is damaged");
}

TEST_F(ClusterCommand, LaunchersSetTheCoordinatorsAddress) {
  environment_.insert(environment_.end(), {"MASTER_ADDR=127.0.0.1", "MASTER_PORT=1", "RANK=3"});
  expect_error({"worker", "--wait-seconds", "0.1", "--quiet"}, 1, "127.0.0.1:1: no coordinator");
  environment_.end()[-3] = "MASTER_ADDR=::1";
  expect_error({"worker", "--wait-seconds", "0.1", "--quiet"}, 1, "[::1]:1: no coordinator");
  expect_error({"worker", "--coordinator", "::1:7070"}, 2,
               "--coordinator ::1:7070: put an IPv6 address into brackets, such as [::1]:7070");
}

}  // namespace
}  // namespace evener
