#include "evener/policy/peer_choice.h"

#include <map>

#include <gtest/gtest.h>

namespace evener {
namespace {

constexpr int kPicks = 10'000;

std::map<int, double> shares(PeerChoice choice) {
  const std::vector<Candidate> candidates{{0, 0.1}, {1, 0.1}, {3, 0.9}, {4, 0.1}};
  Random random(7);
  std::map<int, double> shares;
  for (std::uint64_t i = 0; i < kPicks; ++i) {
    shares[choose_peer(choice, candidates, 2, i, random)] += 1.0 / kPicks;
  }
  return shares;
}

TEST(PeerChoice, UniformIsFair) {
  for (const auto& [peer, share] : shares(PeerChoice::uniform)) EXPECT_NEAR(share, 0.25, 0.02);
}

TEST(PeerChoice, FastChoosesTheFasterOfTwoRandomPeers) {
  const auto fast = shares(PeerChoice::fast);
  EXPECT_NEAR(fast.at(3), 1.0 / 16, 0.01) << "only where both are the slow one";
  for (const int peer : {0, 1, 4}) EXPECT_NEAR(fast.at(peer), 15.0 / 48, 0.02) << peer;
}

TEST(PeerChoice, RingAndShiftWrapAroundOverPresentPeers) {
  struct Row {
    PeerChoice choice;
    int self;
    std::vector<int> picks;
  };
  const std::vector<Candidate> candidates{{1, 0}, {3, 0}, {6, 0}};
  for (const auto& [choice, self, picks] : {Row{PeerChoice::ring, 0, {1, 6, 1, 6}},
                                            {PeerChoice::ring, 4, {6, 3, 6, 3}},
                                            {PeerChoice::ring, 7, {1, 6, 1, 6}},
                                            {PeerChoice::shift, 2, {3, 6, 1, 3}},
                                            {PeerChoice::shift, 9, {1, 3, 6, 1}}}) {
    Random random(1);
    std::vector<int> seen;
    for (std::uint64_t i = 0; i < 4; ++i) {
      seen.push_back(choose_peer(choice, candidates, self, i, random));
    }
    EXPECT_EQ(seen, picks) << self;
  }
}

}  // namespace
}  // namespace evener
