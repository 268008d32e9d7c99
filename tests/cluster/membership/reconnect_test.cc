// A worker without a free slot receives the reason, waits, and fails with it after a timeout.
#include "evener/cluster/membership/reconnect.h"

#include <deque>
#include <future>

#include "tests/cluster/cluster.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/cluster/parameter_server/status_request.h"

namespace evener {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ReconnectTest : public ClusterTest {
 protected:
  ReconnectTest() : ClusterTest(50) {}
  CoordinatorOptions options_for_slots(int slots) const {
    CoordinatorOptions options = options_for(1, slots);
    options.heartbeats.suspect = options.heartbeats.evict = kSoon;
    return options;
  }
  /// Calls back with each message that a worker of this name prints.
  static WorkerOptions talker(const std::string& name,
                              std::function<void(const std::string&)> say) {
    WorkerOptions options;
    options.name = name;
    options.patience = kSoon;
    options.say = std::move(say);
    return options;
  }
  /// Returns when it has a slot.
  std::unique_ptr<TestWorker> joined_worker(const ClusterCoordinator& nodes,
                                            const std::string& name) {
    auto joined = std::make_shared<std::promise<void>>();
    auto worker = std::make_unique<TestWorker>(data_, ClusterSetting{}, address_of(nodes), -1,
                                               talker(name, [joined](const std::string& text) {
                                                 if (text.find("joined as") != std::string::npos)
                                                   joined->set_value();
                                               }));
    joined->get_future().wait();
    return worker;
  }
};
EVENER_OVER_TRANSPORTS(ReconnectTest);

TEST_P(ReconnectTest, AWorkerWaitsForASlotAndTakesIt) {
  const auto nodes = coordinator(options_for_slots(1));
  const auto first = joined_worker(*nodes, "first");
  std::vector<std::string> log;
  std::promise<void> joined;
  TestWorker second(data_, {}, address_of(*nodes), -1,
                    talker("second", [&](const std::string& text) {
                      log.push_back(text);
                      if (log.size() == 1) first->stop();
                      if (text == "joined as node 0") joined.set_value();
                    }));
  joined.get_future().wait();
  second.stop();
  EXPECT_EQ(first->wait() + second.wait(), "");
  EXPECT_THAT(log, ElementsAre(HasSubstr("the run is full, its one slot (--workers) is taken; "
                                         "waiting for a free slot"),
                               "joined as node 0"));
}

TEST_P(ReconnectTest, AWorkerWithoutASlotFailsWithTheReason) {
  const auto nodes = coordinator(options_for_slots(2));
  const auto first = joined_worker(*nodes, "first");
  const auto second = joined_worker(*nodes, "second");
  WorkerOptions impatient;
  impatient.name = "third";
  impatient.patience = 0;
  TestWorker third(data_, {}, address_of(*nodes), -1, impatient);
  EXPECT_EQ(third.wait(),
            nodes->address() +
                ": no free slot for 0 s: the run is full, all its 2 slots (--workers) "
                "are taken; to wait longer: --wait-seconds");
  first->stop();
  second->stop();
}

TEST_P(ReconnectTest, AnExtraServerFailsWithTheReason) {
  CoordinatorOptions options = options_for_slots(1);
  options.servers = 1;
  const auto nodes = coordinator(options);
  TestServer first(address_of(*nodes));
  const auto& transport = network_.transport();
  while (ask_status(*transport, nodes->address(), "").find(R"("servers_there":1)") ==
         std::string::npos) {
  }
  ShardServerOptions impatient;
  impatient.patience = 0;
  TestServer second(address_of(*nodes), impatient);
  EXPECT_THAT(second.wait(),
              HasSubstr(": no free slot for 0 s: the run has as many servers as it asks "
                        "for (--servers 1)"));
  first.stop();
}

/// The reports and the final error of sessions that end like these, one after the other. The last
/// one repeats.
std::vector<std::string> told_of(std::deque<SessionEnd> ends, Seconds patience) {
  std::vector<std::string> log;
  ReconnectOptions options;
  options.coordinator = "there";
  options.patience = patience;
  options.say = [&](const std::string& text) { log.push_back(text); };
  try {
    run_until_over(options, [&](std::string& why, bool&) {
      const SessionEnd end = ends.front();
      if (ends.size() > 1) ends.pop_front();
      why = end == SessionEnd::put_off ? "full" : "refused";
      return end;
    });
  } catch (const Error& problem) {
    log.emplace_back(problem.what());
  }
  return log;
}

TEST(Reconnect, EachReasonIsReportedOnceAndHasItsOwnTimeout) {
  using enum SessionEnd;
  // A pause between sessions is longer than this patience.
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
