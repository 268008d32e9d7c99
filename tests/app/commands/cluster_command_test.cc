// Clusters by the command: what is refused before anything starts, and a run on nodes of this
// machine.
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
  /// Where a coordinator says that it waits for workers.
  static std::string address_of(Running& coordinator) {
    EXPECT_TRUE(coordinator.wait_for(" at "));
    EXPECT_TRUE(coordinator.wait_for("\n"));
    const std::string& said = coordinator.said();
    const std::string place = said.substr(said.find(" at ") + 4);
    return place.substr(0, place.find('\n'));
  }
};

TEST_F(ClusterCommand, WrongUsageIsNamed) {
  expect_error(coordinator({}), 2, "--workers is missing");
  expect_error(coordinator({"--workers", "8:2"}), 2, "--workers 8:2");
  expect_error(coordinator({"--workers", "two"}), 2, "--workers two");
  expect_error(coordinator({"--workers", "0"}), 2, "--workers 0");
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
  expect_error({"worker", "--coordinator", "127.0.0.1:1", "-o", "run"}, 2, "-o is for --peers");
  expect_error({"worker", "--coordinator", "127.0.0.1:1", "--listen", "127.0.0.1:0"}, 2,
               "--listen is for --peers");
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
  expect_error(training("n", {"--device-strategy", "sync"}), 2, "--device-strategy is for --peers");
  expect_error(training("n", {"--evict", "5"}), 2, "--evict is for --peers");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "n"));
  expect_error({"server"}, 2, "--coordinator is missing");
  expect_error({"server", "--coordinator", "a:1", "--listen", "0.0.0.0:0"}, 2, "--insecure");
  expect_error({"server", "--coordinator", "a:1", "--address", "b"}, 2, "--address b");
  expect_error(training("n", {"--servers", "2"}), 2, "--servers is for --nodes");
  expect_error({"status", "127.0.0.1:x"}, 2, "COORDINATOR 127.0.0.1:x");
  expect_error(training("n", {"--nodes", "2", "--devices", "cpu:1"}), 2, "--devices");
  expect_error(training("n", {"--transport", "mpi"}), 2, "mpirun -n 4 evener train");
  expect_error(training("n", {"--transport", "mpj"}), 2, "did you mean 'mpi'?");
  expect_error(training("n", {"--transport", "mpi:openmp"}), 2, "did you mean 'mpi:openmpi'?");
  expect_error(training("n", {"--transport", "mpi:mpich", "--nodes", "2"}), 2, "--nodes: not with");
}

TEST_F(ClusterCommand, NobodyThereIsSaid) {
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

  // Who did what, after each epoch.
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

TEST_F(ClusterCommand, ARunThatDivergesGoesBackAndOnWithALowerLearningRate) {
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

TEST_F(ClusterCommand, WhatItSaysToGoOnWithGoesOn) {
  Running running(training("cut", {"--nodes", "2", "--epochs", "5000", "--strategy", "bsp"}),
                  environment_, folder_ / "out");
  ASSERT_TRUE(running.wait_for("epoch 2/5000"));
  running.send(SIGINT);
  ASSERT_EQ(running.finish(), 130);
  EXPECT_THAT(running.said(),
              HasSubstr("go on with: evener train --nodes 2 --resume " + (folder_ / "cut")));
  expect_error({"train", "--resume", folder_ / "cut"}, 2, "that run was a cluster's");
  Running again({"train", "--nodes", "2", "--resume", folder_ / "cut"}, environment_,
                folder_ / "again");
  ASSERT_TRUE(again.wait_for("/5000"));
  again.send(SIGINT);
  EXPECT_EQ(again.finish(), 130);
}

TEST_F(ClusterCommand, NodesAreDaspUnlessSaidOtherwise) {
  const Outcome outcome = run(training("auto", {"--nodes", "2", "--emulate", "node1=x0.5"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("strategy  dasp"));
}

TEST_F(ClusterCommand, OnlyThoseWhoAreThereAreNamed) {
  Running running(coordinator({"--workers", "1:3", "--listen", "127.0.0.1:0"}), environment_,
                  folder_ / "out");
  const Outcome worker = run({"worker", "--coordinator", address_of(running), "--quiet"});
  EXPECT_EQ(worker.code, 0) << worker.err;
  EXPECT_EQ(running.finish(), 0) << running.said();
  EXPECT_THAT(running.said(), HasSubstr("training on node 0 by dasp ("));
  EXPECT_THAT(contents_of(folder_ / "out"),
              AllOf(HasSubstr("\ndevice    0 node 0: "), Not(HasSubstr("node 1")),
                    HasSubstr("\n          2 places that nobody came to\n")));
  EXPECT_THAT(contents_of(folder_ / "cluster/metrics.jsonl"),
              AllOf(HasSubstr("\"node 0\""), Not(HasSubstr("\"node 1\""))));
}

TEST_F(ClusterCommand, CertificatesMakeAClusterOfStrangersSafe) {
  ASSERT_EQ(run({"certs", folder_ / "certs"}).code, 0);
  expect_error({"certs", folder_ / "certs"}, 2, "has an authority already");
  expect_error({"certs", folder_ / "more", "--hosts", ""}, 2, "--hosts");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "more/ca.pem"));
  Running running(
      coordinator({"--workers", "1", "--listen", "127.0.0.1:0", "--tls", folder_ / "certs"}),
      environment_, folder_ / "out");
  const std::string address = address_of(running);
  expect_error(coordinator({"--workers", "1", "--listen", address}), 1, "Address already in use");
  // Without a certificate nobody gets as far as a refusal.
  expect_error({"worker", "--coordinator", address, "--wait-seconds", "0.1", "--quiet"}, 1,
               "no coordinator");
  const Outcome worker =
      run({"worker", "--coordinator", address, "--tls", folder_ / "certs", "--quiet"});
  EXPECT_EQ(worker.code, 0) << worker.err;
  EXPECT_EQ(running.finish(), 0) << running.said();
}

TEST_F(ClusterCommand, LaunchersSayWhereTheCoordinatorIs) {
  environment_.insert(environment_.end(), {"MASTER_ADDR=127.0.0.1", "MASTER_PORT=1", "RANK=3"});
  expect_error({"worker", "--wait-seconds", "0.1", "--quiet"}, 1, "127.0.0.1:1: no coordinator");
}

}  // namespace
}  // namespace evener
