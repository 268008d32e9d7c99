#include "evener/cluster/wire/wire.h"

#include <string>

#include <gtest/gtest.h>

namespace evener {
namespace {

TEST(Wire, TextsOfOtherProcessesHaveNoControlCharacters) {
  const std::string text = "gone\x1b[2J\nevener: error: forged";
  const std::string shown = "gone\\x1b[2J\\x0aevener: error: forged";
  wire::Head head;
  head.mutable_hello()->set_name(text);
  EXPECT_EQ(head_of(message_of(head)).hello().name(), shown);
  head.mutable_refusal()->set_why(text);
  EXPECT_EQ(head_of(message_of(head)).refusal().why(), shown);
  head.mutable_leave()->set_why(text);
  EXPECT_EQ(head_of(message_of(head)).leave().why(), shown);
  head.mutable_push()->set_failure(text);
  EXPECT_EQ(head_of(message_of(head)).push().failure(), shown);
  head.mutable_pushed()->set_invalid(text);
  EXPECT_EQ(head_of(message_of(head)).pushed().invalid(), shown);
}

// A path in Latin-1, as in the options of a run.
TEST(Wire, PathsNeedNotBeUtf8) {
  const std::string path = "/d\xE4ta/train.txt";
  const Job job{{{"train", path}}, {1, 2, 3, 4}, 5};
  wire::Head head;
  set_job(job, *head.mutable_welcome());
  EXPECT_EQ(job_of(head_of(message_of(head)).welcome()).options, job.options);
  head.mutable_peer_hello()->mutable_options()->insert(job.options.begin(), job.options.end());
  EXPECT_EQ(head_of(message_of(head)).peer_hello().options().at("train"), path);
  head.mutable_push()->set_failure(path);
  EXPECT_EQ(head_of(message_of(head)).push().failure(), "/d\\xe4ta/train.txt") << "for people";
}

TEST(Wire, LongTextsAreCut) {
  wire::Head head;
  head.mutable_hello()->set_name(std::string(100'000, 'x'));
  EXPECT_EQ(head_of(message_of(head)).hello().name(), std::string(1000, 'x') + "...");
  head.mutable_leave()->set_why("the run is over");
  EXPECT_EQ(head_of(message_of(head)).leave().why(), "the run is over");
}

TEST(Wire, AHeadThatCannotBeReadIsAnError) {
  EXPECT_THROW(head_of({"\xff\xff", {}, nullptr}), Error);
}

}  // namespace
}  // namespace evener
