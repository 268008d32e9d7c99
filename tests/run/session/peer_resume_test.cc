// A gossiping peer resumes from its checkpoint. It runs alone, so that it is deterministic.
#include "tests/run/session/train_fixture.h"
#include <gtest/gtest.h>

namespace evener {
namespace {

class PeerResume : public TrainFixture {
 protected:
  PeerResume() {
    options_.strategy = "gossip";
    options_.decay = "cosine";
    options_.dropout = 0.3;
    options_.test.clear();
    make_backend_ = [] {
      PeerBackendOptions options;
      options.peers.addresses = {"alone"};
      options.peers.transport = make_local_transport();
      return make_peer_backend(std::move(options));
    };
  }
  std::string checkpoints(const std::string& run) const { return folder_ / (run + "/checkpoints"); }
  /// Interrupts after this many steps.
  void interrupt(const std::string& name, long steps) {
    long done = 0;
    hooks_.after_step = [&](std::span<const float>) {
      if (++done == steps) send_signal();
    };
    const TrainResult result = run(name);
    hooks_.after_step = {};
    EXPECT_EQ(result.signal, SIGINT);
    EXPECT_EQ(result.progress.step, static_cast<std::uint64_t>(steps));
  }
};

TEST_F(PeerResume, GoesOnToTheSameBits) {
  for (const char* optimizer : {"adam", "momentum", "adagrad", "sgd"}) {
    for (const char* strategy : {"gossip", "adaptive-gossip:compress=top-k"}) {
      options_.optimizer = optimizer;
      options_.strategy = strategy;
      const std::string name = std::string(optimizer) + strategy;
      run(name);
      for (const long steps : {3, 7, 12}) {  // 7: one epoch of its rows
        const std::string cut = name + std::to_string(steps);
        interrupt(cut, steps);
        const TrainResult result = resume(cut);
        EXPECT_EQ(result.ended, "epochs");
        EXPECT_EQ(model(cut, "last"), model(name, "last")) << name << " after " << steps;
      }
    }
  }
}

TEST_F(PeerResume, WithoutTheOptimizersStateItWouldBeAnotherModel) {
  run("whole");
  for (const bool forget : {false, true}) {
    const std::string cut = forget ? "forgets" : "remembers";
    interrupt(cut, 10);
    auto checkpoint = load_checkpoint(checkpoints(cut), {});
    ASSERT_TRUE(checkpoint);
    ASSERT_EQ(checkpoint->state.size(), 2U) << "of Adam";
    if (forget) {
      for (auto& vector : checkpoint->state) vector = FloatBuffer(vector.size());
    }
    save_checkpoint(*checkpoint, checkpoints(cut));
    resume(cut);
    EXPECT_EQ(model(cut, "last") == model("whole", "last"), !forget);
  }
}

// Its push-sum weight, the changes not yet sent, and the model as last sent.
TEST_F(PeerResume, RemembersWhatItHadExchanged) {
  options_.strategy = "adaptive-gossip:compress=top-k";
  interrupt("cut", 10);
  auto checkpoint = load_checkpoint(checkpoints("cut"), {});
  ASSERT_TRUE(checkpoint);
  ASSERT_EQ(checkpoint->kept.size(), 1U);
  FloatBuffer& reference = checkpoint->kept.begin()->second;
  for (std::size_t i = 0; i < reference.size(); ++i) reference[i] *= 0.5F;
  const auto before = bits(reference.span());
  checkpoint->options["peer memory"] = "0 0.75 0.25";
  save_checkpoint(*checkpoint, checkpoints("cut"));
  EXPECT_EQ(resume("cut", 0).signal, SIGINT);
  const auto after = load_checkpoint(checkpoints("cut"), {});
  ASSERT_TRUE(after);
  EXPECT_EQ(after->progress.step, checkpoint->progress.step);
  EXPECT_EQ(after->options.at("peer memory"), "0 0.75 0.25");
  ASSERT_EQ(after->kept.size(), 1U);
  EXPECT_EQ(bits(after->kept.begin()->second.span()), before);
}

TEST_F(PeerResume, TheBestModelSoFarIsKeptAndSoIsATrace) {
  options_.test = folder_ / "test.txt";
  options_.epochs = 6;
  const TrainResult whole = run("whole");
  ASSERT_GT(whole.progress.best_epoch, 0U);
  EXPECT_EQ(whole.best_by, "p@1");
  EXPECT_GE(whole.progress.best_metric, whole.metrics.at("p@1"));
  const Model best = load_model(folder_ / "whole/best.safetensors");
  EXPECT_GT(best.parameters.size(), 0U);
  if (whole.progress.best_epoch == whole.progress.epoch) {
    EXPECT_EQ(model("whole", "best"), model("whole", "last"));
  }
  EXPECT_NE(contents_of(folder_ / "whole/trace.json").find("\"step\""), std::string::npos);
  ASSERT_EQ(whole.workers.size(), 1U);
  EXPECT_FALSE(whole.workers[0].lost);
  EXPECT_EQ(whole.workers[0].updates, whole.progress.step);
  // The resumed run keeps the best model so far.
  interrupt("cut", 30);
  const TrainResult result = resume("cut");
  EXPECT_EQ(result.progress.best_metric, whole.progress.best_metric);
  EXPECT_EQ(result.progress.best_epoch, whole.progress.best_epoch);
  EXPECT_EQ(model("cut", "best"), model("whole", "best"));
}

TEST_F(PeerResume, WhatPeersCannotDoIsRefused) {
  options_.test = folder_ / "test.txt";
  options_.early_stop = "p@1";
  EXPECT_THROW(run("stops"), UsageError);
  options_.early_stop = "none";
  options_.average = 1;
  EXPECT_THROW(run("averages"), UsageError);
}

TEST_F(PeerResume, ARunThatIsDoneMayGoOnForMoreEpochs) {
  run("more");
  options_.epochs = 5;
  const TrainResult result = resume("more");
  EXPECT_EQ(result.progress.epoch, 5U);
  EXPECT_GT(result.progress.step, 30U);
}

}  // namespace
}  // namespace evener
