// The coordinator. It connects four parts: Membership has the workers and their slots, WorkerOrders
// the tasks, ShardServers or the model's ShardHost the parameters, and WorkerStates the state that
// workers keep beside the model. One lock guards the first two.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "evener/cluster/membership/membership.h"
#include "evener/cluster/membership/worker_key.h"
#include "evener/cluster/parameter_server/coordinator.h"
#include "evener/cluster/parameter_server/coordinator_status.h"
#include "evener/cluster/parameter_server/served_model.h"
#include "evener/cluster/parameter_server/shard_servers.h"
#include "evener/cluster/parameter_server/worker_orders.h"

namespace evener {

class CoordinatorService final : public ClusterCoordinator {
 public:
  explicit CoordinatorService(const CoordinatorOptions& options);
  ~CoordinatorService() override;

  std::string address() const override { return listener_->address(); }
  void offer(Job job) override;
  void set_status(std::string json) override {
    const std::lock_guard lock(mutex_);
    status_.set(std::move(json));
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

  // Called by connections, on the transport's threads. From any client:
  void heard(const Client& client, std::optional<std::uint64_t> progress);
  void disconnected(Client& client, const std::string& why);
  void answer_status(Client& client, const wire::StatusRequest& request);
  void refuse_peer(Client& client);
  void chunk(Client& client, const wire::Chunk& chunk, const Message& message);
  // From a worker:
  void hello(const std::shared_ptr<Client>& client);
  void ready(Client& client, const wire::Ready& ready);
  void push(Client& client, const wire::Push& push);
  void worker_state(Client& client, const wire::WorkerState& state);
  // From a shard server:
  void server_hello(Client& client, const wire::ServerHello& hello);
  void kept(Client& client);
  void pushed(Client& client, const wire::Pushed& pushed);
  void fetched(Client& client, const wire::Fetched& fetched);

  // Called by the executor, on the scheduler's thread.
  Seconds now() const { return clock_.elapsed(); }
  void start(Task task);
  std::optional<Arrival> next(Seconds until);
  std::optional<MembershipChange> take_change();
  bool interrupted() const { return options_.interrupted && options_.interrupted() != 0; }
  bool is_present(int worker) const {
    return present_at_start_[static_cast<std::size_t>(worker)] != 0;
  }
  void leave_engine();

 private:
  /// Nothing while workers have to wait: there is no job yet, or the servers have not allocated
  /// their shards.
  std::optional<wire::Welcome> welcome() const;
  void welcome_waiting();
  void put(MembershipChange change);
  /// Does nothing without an arrival: the push is not complete yet.
  void put(std::optional<Arrival> arrival);
  void send_heartbeats();
  std::string port() const { return address().substr(address().rfind(':') + 1); }
  /// A signal was received. Returns whether the scheduler does not know it yet. Closes the
  /// connections of workers whose tasks take longer than the grace period.
  bool handle_signal();
  /// Error if a signal was received, or if there were too few workers for longer than `patience`.
  void check_patience(Seconds since) const;

  CoordinatorOptions options_;
  std::string secret_ = random_secret();  // that the shard servers have: worker_key.h
  Stopwatch clock_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Membership membership_;
  WorkerOrders orders_;
  CoordinatorStatus status_;
  WorkerStates worker_states_;
  std::unique_ptr<ShardServers> servers_;  // null: the coordinator holds the model
  std::optional<Job> job_;
  std::uint64_t job_id_;
  ServedModel* model_ = nullptr;        // of the engine
  std::shared_ptr<ShardHost> host_;     // of that model; null: shard servers hold it
  std::vector<char> present_at_start_;  // by slot: a worker had joined when the executor was made
  std::string failure_;                 // of the run
  std::uint64_t ignored_ = 0;
  bool closing_ = false;
  std::optional<Seconds> interrupted_at_;
  std::thread heartbeat_;
  std::unique_ptr<Listener> listener_;  // last: its connections use all of the above
};

/// `coordinator` outlives it.
std::unique_ptr<Executor> make_cluster_executor(CoordinatorService& coordinator);

}  // namespace evener
