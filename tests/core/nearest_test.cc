#include "evener/core/nearest.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace evener {
namespace {

TEST(Nearest, CountsEditsAndSwaps) {
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("adma", "adam"), 1U);
  EXPECT_EQ(edit_distance("same", "same"), 0U);
}

RC_GTEST_PROP(Nearest, DistanceIsSymmetricAndBounded, (std::string a, std::string b)) {
  const auto distance = edit_distance(a, b);
  RC_ASSERT(distance == edit_distance(b, a));
  RC_ASSERT(distance <= std::max(a.size(), b.size()));
  RC_ASSERT((distance == 0) == (a == b));
}

TEST(Nearest, SuggestsOnlyWhatIsNear) {
  const std::vector<std::string> names{"learning-rate", "global-batch-size", "epochs", "l2"};
  EXPECT_EQ(nearest("lerning-rate", names), "learning-rate");
  EXPECT_EQ(nearest("batch-size", names), "global-batch-size");
  EXPECT_EQ(nearest("l1", names), "l2");
  EXPECT_EQ(nearest("xyzzy", names), "");
  EXPECT_EQ(did_you_mean("epoch", names, "--"), " (did you mean '--epochs'?)");
  EXPECT_EQ(did_you_mean("xyzzy", names), "");
}

}  // namespace
}  // namespace evener
