#include "evener/run/artifacts/run_kind.h"

#include <gtest/gtest.h>

#include "evener/core/error.h"

namespace evener {
namespace {

using Texts = std::map<std::string, std::string>;

// Users have checkpoints with these keys: they must stay readable.
TEST(RunKind, IsReadFromTheKeysOfEveryVersion) {
  EXPECT_EQ(run_kind({}), RunKind::local);
  EXPECT_EQ(run_kind({{"virtual time", "yes"}}), RunKind::virtual_time);
  EXPECT_EQ(run_kind({{"cluster", "yes"}}), RunKind::cluster);
  EXPECT_EQ(run_kind({{"cluster", "peers"}}), RunKind::peers);
}

TEST(RunKind, IsWrittenAsItIsRead) {
  for (const RunKind before : kRunKinds) {
    for (const RunKind kind : kRunKinds) {
      Texts texts{{"epochs", "3"}};
      set_run_kind(before, texts);
      set_run_kind(kind, texts);
      EXPECT_EQ(run_kind(texts), kind);
      EXPECT_EQ(texts.at("epochs"), "3");
    }
  }
}

TEST(RunKind, OnlyTheSameKindIsNotRefused) {
  for (const RunKind was : kRunKinds) {
    Texts texts;
    set_run_kind(was, texts);
    for (const RunKind now : kRunKinds) {
      if (was == now) {
        EXPECT_NO_THROW(check_same_kind(now, texts, "runs/a"));
      } else {
        EXPECT_THROW(check_same_kind(now, texts, "runs/a"), UsageError);
      }
    }
  }
}

}  // namespace
}  // namespace evener
