// Who comes to a run that has no free slot is told so, waits, and gives up with that reason.
#include "evener/cluster/membership/reconnect.h"

#include <deque>
#include <future>

#include "tests/cluster/cluster.h"
#include "tests/cluster/transport/inbox.h"
#include "tests/device/random_data.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace evener {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class VisitsTest : public testing::Test {
 protected:
  VisitsTest() : data_(make_data()) {}
  static Dataset make_data() {
    Random random(3);
    return random_data(random, 50, 40, 12);
  }
  static CoordinatorOptions options_for(int places) {
    CoordinatorOptions options;
    options.most = places;
    options.heartbeats.suspect = options.heartbeats.evict = kSoon;
    return options;
  }
  /// Calls back with all that a worker of this name says.
  static WorkerOptions talker(const std::string& name,
                              std::function<void(const std::string&)> say) {
    WorkerOptions options;
    options.name = name;
    options.patience = kSoon;
    options.say = std::move(say);
    return options;
  }
  /// Returns when it has a slot.
  std::unique_ptr<TestWorker> settled(const std::string& address, const std::string& name) {
    auto joined = std::make_shared<std::promise<void>>();
    auto worker = std::make_unique<TestWorker>(data_, ClusterSetting{}, address, -1,
                                               talker(name, [joined](const std::string& text) {
                                                 if (text.find("joined as") != std::string::npos)
                                                   joined->set_value();
                                               }));
    joined->get_future().wait();
    return worker;
  }
  Dataset data_;
};

TEST_F(VisitsTest, AWorkerWaitsForAPlaceAndTakesIt) {
  const auto nodes = coordinator(data_, options_for(1));
  const auto first = settled(nodes->address(), "first");
  std::vector<std::string> said;
  std::promise<void> joined;
  TestWorker second(data_, {}, nodes->address(), -1, talker("second", [&](const std::string& text) {
                      said.push_back(text);
                      if (said.size() == 1) first->stop();
                      if (text == "joined as node 0") joined.set_value();
                    }));
  joined.get_future().wait();
  second.stop();
  EXPECT_EQ(first->wait() + second.wait(), "");
  EXPECT_THAT(said, ElementsAre(HasSubstr("the run is full, its one slot (--workers) is taken; "
                                          "waiting for a free slot"),
                                "joined as node 0"));
}

TEST_F(VisitsTest, AWorkerWithoutAPlaceGivesUpWithTheReason) {
  const auto nodes = coordinator(data_, options_for(2));
  const auto first = settled(nodes->address(), "first");
  const auto second = settled(nodes->address(), "second");
  WorkerOptions impatient;
  impatient.name = "third";
  impatient.patience = 0;
  TestWorker third(data_, {}, nodes->address(), -1, impatient);
  EXPECT_EQ(third.wait(),
            nodes->address() +
                ": no free slot for 0 s: the run is full, all its 2 slots (--workers) "
                "are taken; to wait longer: --wait-seconds");
  first->stop();
  second->stop();
}

TEST_F(VisitsTest, AServerTooManyGivesUpWithTheReason) {
  CoordinatorOptions options = options_for(1);
  options.servers = 1;
  const auto nodes = coordinator(data_, options);
  TestServer first(nodes->address());
  const auto transport = make_grpc_transport();
  while (ask_status(*transport, nodes->address(), "").find(R"("servers_there":1)") ==
         std::string::npos) {
  }
  ShardServerOptions impatient;
  impatient.patience = 0;
  TestServer second(nodes->address(), impatient);
  EXPECT_THAT(second.wait(),
              HasSubstr(": no free slot for 0 s: the run has as many servers as it asks "
                        "for (--servers 1)"));
  first.stop();
}

/// What is told and what it ends with where visits end as these, one after the other; the last
/// again and again.
std::vector<std::string> told_of(std::deque<SessionEnd> ends, Seconds patience) {
  std::vector<std::string> said;
  ReconnectOptions options;
  options.coordinator = "there";
  options.patience = patience;
  options.say = [&](const std::string& text) { said.push_back(text); };
  try {
    run_until_over(options, [&](std::string& why, bool&) {
      const SessionEnd end = ends.front();
      if (ends.size() > 1) ends.pop_front();
      why = end == SessionEnd::put_off ? "full" : "refused";
      return end;
    });
  } catch (const Error& problem) {
    said.emplace_back(problem.what());
  }
  return said;
}

TEST(Visits, EachReasonIsToldOnceAndHasItsOwnTime) {
  using enum SessionEnd;
  // A pause between visits is longer than this patience.
  EXPECT_THAT(
      told_of({lost, put_off, lost}, 0.4),
      ElementsAre("there: refused; trying again",
                  "there: full; waiting for a free slot, for 0.4 s at most",
                  "there: refused; trying again", "there: no coordinator for 0.4 s: refused"));
  EXPECT_THAT(told_of({put_off}, 0.4),
              ElementsAre("there: full; waiting for a free slot, for 0.4 s at most",
                          "there: no free slot for 0.4 s: full; to wait longer: --wait-seconds"));
}

}  // namespace
}  // namespace evener
