#include "evener/cluster/membership/worker_key.h"

#include <set>

#include <gtest/gtest.h>

namespace evener {
namespace {

TEST(WorkerKey, DiffersByRunSlotAndGeneration) {
  const std::string secret = random_secret(), other = random_secret();
  const std::set<std::string> keys{worker_key(secret, 0, 1), worker_key(secret, 1, 1),
                                   worker_key(secret, 0, 2), worker_key(other, 0, 1)};
  EXPECT_EQ(keys.size(), 4U);
  EXPECT_EQ(worker_key(secret, 0, 1).size(), 32U);
}

TEST(WorkerKey, OnlyTheWholeKeyIsTheSame) {
  const std::string key = worker_key(random_secret(), 3, 4);
  EXPECT_TRUE(same_key(key, std::string(key)));
  EXPECT_FALSE(same_key(key, ""));
  EXPECT_FALSE(same_key(key, key.substr(1)));
  std::string damaged = key;
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  EXPECT_FALSE(same_key(key, damaged));
}

}  // namespace
}  // namespace evener
