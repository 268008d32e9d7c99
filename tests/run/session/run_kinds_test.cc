// A run is resumed only by the same kind of backend: all pairs of kinds.
#include "tests/run/session/train_fixture.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/run/artifacts/run_kind.h"

namespace evener {
namespace {

using testing::HasSubstr;

std::unique_ptr<Backend> one_peer() {
  PeerBackendOptions options;
  options.peers.addresses = {"alone"};
  options.peers.transport = make_local_transport();
  return make_peer_backend(std::move(options));
}

std::unique_ptr<Backend> two_simulated_devices() {
  VirtualTimeOptions time;
  time.devices.resize(2);
  for (auto& device : time.devices) device.per_row = 1e-3;
  return make_virtual_backend(std::move(time));
}

std::unique_ptr<Backend> make_backend_of(RunKind kind) {
  switch (kind) {
    case RunKind::local:
      return make_local_backend();
    case RunKind::virtual_time:
      return two_simulated_devices();
    case RunKind::cluster: {
      CoordinatorOptions options;
      options.listen = "coordinator";
      options.transport = make_local_transport();
      return make_cluster_backend(make_coordinator(options));
    }
    case RunKind::peers:
      return one_peer();
  }
  throw Error("no such kind");
}

class RunKinds : public TrainFixture {};

TEST_F(RunKinds, BackendsSayTheirs) {
  for (const RunKind kind : kRunKinds) EXPECT_EQ(make_backend_of(kind)->kind(), kind);
}

TEST_F(RunKinds, ACheckpointIsResumedByItsOwnKindOnly) {
  run("run");
  const std::string checkpoints = folder_ / "run/checkpoints";
  for (const RunKind was : kRunKinds) {
    auto checkpoint = load_checkpoint(checkpoints, {});
    ASSERT_TRUE(checkpoint);
    set_run_kind(was, checkpoint->options);
    save_checkpoint(*checkpoint, checkpoints);
    for (const RunKind now : kRunKinds) {
      SCOPED_TRACE(static_cast<int>(was) * 10 + static_cast<int>(now));
      make_backend_ = [now] { return make_backend_of(now); };
      if (was == now) {
        EXPECT_TRUE(resume("run").was_complete) << "all epochs are done: it has nothing to train";
      } else {
        EXPECT_THAT(error_of([&] { resume("run"); }), HasSubstr("that run was "));
      }
    }
  }
}

TEST_F(RunKinds, ASimulatedGossipRunIsNotResumedAsAPeerNorAPeerAsASimulation) {
  options_.strategy = "gossip";
  make_backend_ = two_simulated_devices;
  EXPECT_EQ(run("simulated", 5).signal, SIGINT);
  make_backend_ = one_peer;
  EXPECT_THAT(error_of([&] { resume("simulated"); }),
              HasSubstr("that run was a simulation: resume it with evener simulate"));
  EXPECT_EQ(run("peer", 5).signal, SIGINT);
  make_backend_ = two_simulated_devices;
  EXPECT_THAT(error_of([&] { resume("peer"); }), HasSubstr("that run was one of several peers'"));
  make_backend_ = one_peer;
  EXPECT_EQ(resume("peer").ended, "epochs");
}

TEST_F(RunKinds, RefuseOptionsThatDoNotApply) {
  const auto refused = [&](RunKind kind, auto change) {
    const TrainOptions before = options_;
    change(options_);
    make_backend_ = [kind] { return make_backend_of(kind); };
    EXPECT_THROW(run("refused"), UsageError);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "refused"));
    options_ = before;
  };
  refused(RunKind::virtual_time, [](TrainOptions& o) { o.devices = "cpu:1"; });
  refused(RunKind::virtual_time, [](TrainOptions& o) { o.emulate = "0=x0.5"; });
  refused(RunKind::virtual_time, [](TrainOptions& o) { o.memory_limit = "512"; });
  refused(RunKind::cluster, [](TrainOptions& o) { o.emulate = "0=x0.5"; });
  refused(RunKind::cluster, [](TrainOptions& o) { o.strategy = "sync"; });
  refused(RunKind::peers, [](TrainOptions& o) { o.strategy = "dasp"; });
  refused(RunKind::peers, [](TrainOptions& o) { o.emulate = "0=x0.5"; });
  refused(RunKind::peers, [](TrainOptions& o) { o.early_stop = "p@1"; });
  refused(RunKind::peers, [](TrainOptions& o) { o.average = 1; });
  refused(RunKind::peers, [](TrainOptions& o) { o.balance = "nonzeros"; });
  refused(RunKind::local, [](TrainOptions& o) { o.strategy = "nothing"; });
}

}  // namespace
}  // namespace evener
