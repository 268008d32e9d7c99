// [G] Ho, Wu, Liu 2018: exchange models when the local model has changed, not by the clock; -92 %
// traffic and -52 % time at the same accuracy. Here on links where gossip every step spends 56 % of
// an iteration on communication, which is what these two figures imply. bench/claims/gossip.py has
// more nodes, seeds and rates.
#include "tests/claims/claims.h"

namespace evener {
namespace {

constexpr std::size_t kHidden = 128;

struct Cluster {
  ClaimSet set;
  int nodes = 8;
  double share = 0.56;  // share of an iteration (gossip every step) that its two messages take
  std::uint32_t epochs = 20;
};

struct Gossiped {
  double quality = 0, seconds = 0, megabytes = 0;
};

std::vector<DeviceModel> nodes_for(const Cluster& cluster, std::size_t model_bytes,
                                   std::size_t rows) {
  DeviceModel node;
  node.fixed = 0.2e-3;
  node.per_row = 300e-6;
  const double step = node.fixed + node.per_row * static_cast<double>(rows);
  node.bandwidth =
      2 * static_cast<double>(model_bytes) / (step * cluster.share / (1 - cluster.share));
  node.jitter = 0.02;
  node.name = "node";
  return std::vector(static_cast<std::size_t>(cluster.nodes), node);
}

Gossiped gossiped(const std::string& strategy, const Cluster& cluster) {
  const ClaimData data = claim_data(cluster.set);
  const std::string folder = own_folder("gossip");
  std::filesystem::remove_all(folder);
  TrainOptions options;
  options.data = data.train;
  options.test = data.test;
  options.cache = false;
  options.hidden = {kHidden};
  options.epochs = cluster.epochs;
  options.learning_rate = 0.02;
  options.strategy = strategy;
  options.output = folder;
  const std::size_t rows = options.global_batch_size / static_cast<std::uint32_t>(cluster.nodes);
  VirtualTimeOptions time;
  time.devices = nodes_for(cluster, 1'000'000, rows);
  const TrainResult result = train(options, *make_virtual_backend(time), {});
  std::filesystem::remove_all(folder);
  Gossiped gossiped{100 * result.metrics.at("p@1"), result.progress.seconds, 0};
  for (const auto& worker : result.workers)
    gossiped.megabytes += static_cast<double>(worker.bytes) / 1e6;
  fmt::print("{:<58} P@1 {:.2f}, {:.2f} s, {:.0f} MB\n", strategy, gossiped.quality,
             gossiped.seconds, gossiped.megabytes);
  return gossiped;
}

class Gossip : public OnClaimSets {
 protected:
  static Gossiped gossiped(const std::string& strategy) {
    return evener::gossiped(strategy, {.set = GetParam()});
  }
};

TEST_P(Gossip, ByChangeSavesMostOfTheTrafficAndHalfOfTheTime) {
  const Gossiped every = gossiped("gossip:overlap=0");
  const Gossiped adaptive = gossiped("adaptive-gossip:eps=0.16:warmup=10:overlap=0");
  const Gossiped rows = gossiped("adaptive-gossip:eps=0.16:warmup=10:overlap=0:rows=changed");
  EXPECT_LT(adaptive.megabytes, 0.1 * every.megabytes);
  EXPECT_LT(adaptive.seconds, 0.55 * every.seconds);
  EXPECT_GT(adaptive.quality, every.quality - 1.5);
  EXPECT_LT(rows.megabytes, 0.7 * adaptive.megabytes);
  EXPECT_GT(rows.quality, every.quality - 1.5);
}

// The relevant baseline is the fixed period with equal traffic. While models still change,
// exchanging by change is better; bench/claims/gossip_frontier.py has more. On the made set both
// are equally good.
TEST_P(Gossip, ByChangeIsBetterThanTheFixedPeriodWithEqualTraffic) {
  const Gossiped adaptive = gossiped("adaptive-gossip:eps=0.16:warmup=10:overlap=0");
  const Gossiped fixed = gossiped("gossip:overlap=0:period=8");
  EXPECT_LT(adaptive.megabytes, 1.1 * fixed.megabytes);
  EXPECT_GT(adaptive.quality, fixed.quality + (GetParam().made() ? -0.3 : 0.3));
}

// Ours: fewer numbers, with fewer bits.
TEST_P(Gossip, OfChangedRowsInHalfPrecisionTakesAThirdOfTheBytes) {
  const Gossiped whole = gossiped("adaptive-gossip:eps=0.16:warmup=10:overlap=0");
  const Gossiped part =
      gossiped("adaptive-gossip:eps=0.16:warmup=10:overlap=0:rows=changed:compress=fp16");
  EXPECT_LT(part.megabytes, 0.34 * whole.megabytes);
  EXPECT_GT(part.quality, whole.quality - 1.5);
}

// Ours: no peer waits for a message, and traffic adapts to the bandwidth of the link.
TEST_P(Gossip, WithoutWaitingTakesHalfTheTime) {
  const Gossiped waits = gossiped("gossip:overlap=0");
  const Gossiped overlaps = gossiped("gossip");
  EXPECT_LT(overlaps.seconds, 0.55 * waits.seconds);
  // A peer's model is a step or two old when it arrives: this matters in the first epochs, but not
  // later (bench/claims/gossip.py).
  EXPECT_GT(overlaps.quality, waits.quality - 3);
}

// A message takes thirty steps: a peer that trains on without a limit exchanges too rarely, and is
// worse for it on bibtex. On the made set the limit costs nothing against that, but more than on
// bibtex against a peer that waits.
TEST_P(Gossip, OnASlowLinkTrainsOnForAFewStepsOnly) {
  const Cluster slow{GetParam(), 4, 0.984, 12};
  const Gossiped waits = evener::gossiped("adaptive-gossip:overlap=0", slow);
  const Gossiped limited = evener::gossiped("adaptive-gossip", slow);
  const Gossiped unlimited = evener::gossiped("adaptive-gossip:overlap=inf", slow);
  const bool made = GetParam().made();
  EXPECT_GT(limited.quality, unlimited.quality + (made ? -0.3 : 0.3));
  EXPECT_GT(limited.quality, waits.quality - (made ? 3 : 1.5));
  EXPECT_LT(limited.seconds, 0.55 * waits.seconds);
}

INSTANTIATE_TEST_SUITE_P(On, Gossip, testing::ValuesIn(claim_sets(kBibtex)), name_of_set);

}  // namespace
}  // namespace evener
