// Who has which slot at the coordinator's, and what the coordinator has to be told. Used by
// nodes.cc, server_seats.cc, session.cc and node_stage.cc.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "evener/cluster/parameter_server/client_session.h"
#include "evener/cluster/parameter_server/coordinator.h"
#include "evener/cluster/parameter_server/shard_servers.h"
#include "evener/cluster/parameter_server/worker_slot.h"

namespace evener {

class CoordinatorService final : public ClusterCoordinator {
 public:
  explicit CoordinatorService(const CoordinatorOptions& options);
  ~CoordinatorService() override;

  std::string address() const override { return listener_->address(); }
  void offer(Job job) override;
  void set_status(std::string json) override {
    const std::lock_guard lock(mutex_);
    status_ = std::move(json);
  }
  void fail(const std::string& why) override {
    const std::lock_guard lock(mutex_);
    failure_ = why;
  }
  std::uint64_t ignored() const override {
    const std::lock_guard lock(mutex_);
    return ignored_;
  }
  std::vector<WorkerTraits> slots() const override;
  std::unique_ptr<Models> make_models(const ModelSetup& setup,
                                      const StrategyChoice& strategy) override;
  std::unique_ptr<Executor> make_executor() override;

  // For sessions, on the transport's threads.
  void greet(const std::shared_ptr<ClientSession>& session);
  void ready(ClientSession& session, const wire::Ready& ready);
  void push(ClientSession& session, const wire::Push& push);
  void worker_state_arrived(ClientSession& session, const wire::WorkerState& memory);
  void chunk(ClientSession& session, const wire::Chunk& chunk, const Message& message);
  void answer_status(ClientSession& session, const wire::StatusRequest& request);
  void greet_server(ClientSession& session, const wire::ServerHello& hello);
  void kept(ClientSession& session);
  void pushed(ClientSession& session, const wire::Pushed& pushed);
  void fetched(ClientSession& session, const wire::Fetched& fetched);
  void heard(const ClientSession& session);
  void gone(ClientSession& session, const std::string& why);

  // For the executor, on the coordinator's thread.
  Seconds now() const { return clock_.elapsed(); }
  void start(Task task);
  std::optional<Arrival> next(Seconds until);
  std::vector<Change> take_changes();
  bool is_there(int node) const { return there_[static_cast<std::size_t>(node)] != 0; }
  void leave_engine();

 private:
  using Item = std::variant<Arrival, Change>;

  WorkerSlot& at(int node) { return slots_[static_cast<std::size_t>(node)]; }
  void give_slot(ClientSession& session);
  int free_slot(int wanted);
  /// Whether it speaks the protocol and knows the token; otherwise it is refused.
  bool acceptable(ClientSession& session, std::uint32_t protocol, const std::string& token);
  void refuse(ClientSession& session, const std::string& why);
  /// It may try again.
  void put_off(ClientSession& session, const std::string& why);
  /// What a push brought, or that it cannot be used.
  template <class F>
  void finish_push(WorkerSlot& slot, F step) {
    try {
      if (auto arrival = step()) put(std::move(*arrival));
    } catch (const Error& problem) {
      put(slot.mark_invalid(problem.what(), now()));
    }
  }
  /// Workers may connect to their shards.
  bool open() const { return job_ && (!servers_ || servers_->all_keep()); }
  void welcome_all();
  void put(Item item);
  void tick();
  int joined() const {
    return static_cast<int>(
        std::count_if(slots_.begin(), slots_.end(), [](const auto& slot) { return slot.joined; }));
  }
  /// ShardServers are known to the heartbeats by numbers after those of the slots.
  int beats_of(int server) const { return options_.most + server; }
  void await_servers();
  /// Its own host may be known to workers by another name.
  std::string port() const { return address().substr(address().rfind(':') + 1); }
  /// Whether the wait has to end: a signal has come, or nobody is there for too long.
  void check_patience(Seconds since) const;

  CoordinatorOptions options_;
  Stopwatch clock_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<WorkerSlot> slots_;
  std::vector<char> there_;  // when the executor was made
  WorkerStates worker_states_;
  std::deque<Item> items_;
  Heartbeats heartbeats_;
  std::optional<Job> job_;
  std::uint64_t job_id_;
  std::vector<std::shared_ptr<ClientSession>> waiting_;  // have said hello before there was a job
  std::map<const ClientSession*, std::shared_ptr<Channel>> open_;
  std::unique_ptr<ShardServers> servers_;  // null: the model is kept here
  ServedModel* model_ = nullptr;
  std::string status_ = "{}";
  std::string failure_;  // of the run
  std::uint64_t ignored_ = 0;
  bool closing_ = false;
  std::thread ticker_;
  std::unique_ptr<Listener> listener_;  // last: its conversations use all of the above
};

/// `coordinator` outlives it.
std::unique_ptr<Executor> make_cluster_executor(CoordinatorService& coordinator);

}  // namespace evener
