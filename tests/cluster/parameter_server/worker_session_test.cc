// Which connection a worker's session with a shard accepts.
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/cluster/parameter_server/shard_host.h"

namespace evener {
namespace {

class RecordingChannel final : public Channel {
 public:
  void send(Message /*message*/) override { ++sent; }
  void close(const std::string& why) override { closed = why; }

  int sent = 0;
  std::string closed;
};

class WorkerSessionTest : public testing::Test {
 protected:
  void grant(std::uint64_t generation) {
    wire::Order order;
    order.set_sequence(++sequence_);
    session_.grant(order, generation);
  }
  ShardHost host_{whole_shard({.features = 2, .hidden = {1}, .labels = 2}), 1, {}, 1};
  WorkerSession& session_ = host_.session(0);
  std::uint64_t sequence_ = 0;
};

TEST_F(WorkerSessionTest, AnEarlierWorkerOfTheSlotIsRefused) {
  const auto later = std::make_shared<RecordingChannel>();
  const auto earlier = std::make_shared<RecordingChannel>();
  session_.connect(later, 2);
  EXPECT_THROW(session_.connect(earlier, 1), Error);
  grant(2);
  EXPECT_GT(later->sent, 0);
  EXPECT_EQ(later->closed, "");
  EXPECT_EQ(earlier->sent, 0);
}

TEST_F(WorkerSessionTest, TheConnectionOfAnEarlierWorkerIsClosed) {
  const auto earlier = std::make_shared<RecordingChannel>();
  const auto later = std::make_shared<RecordingChannel>();
  session_.connect(earlier, 1);
  session_.connect(later, 2);
  EXPECT_THAT(earlier->closed, testing::HasSubstr("again"));
  grant(2);
  EXPECT_GT(later->sent, 0);
  EXPECT_EQ(earlier->sent, 0);
}

}  // namespace
}  // namespace evener
