// Who has which place at the coordinator's, and what the coordinator has to be told. Used by
// nodes.cc, server_seats.cc, session.cc and node_stage.cc.
#pragma once

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

#include "evener/cluster/nodes.h"
#include "evener/cluster/place.h"
#include "evener/cluster/servers.h"
#include "evener/cluster/session.h"

namespace evener {

class Registry final : public Nodes {
 public:
  explicit Registry(const NodesOptions& options);
  ~Registry() override;

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
  std::vector<WorkerTraits> places() const override;
  std::unique_ptr<Models> make_models(const ModelSetup& setup,
                                      const StrategyChoice& strategy) override;
  std::unique_ptr<Stage> make_stage() override;

  // For sessions, on the transport's threads.
  void greet(const std::shared_ptr<Session>& session);
  void ready(Session& session, const wire::Ready& ready);
  void push(Session& session, const wire::Push& push);
  void recalled(Session& session, const wire::Memory& memory);
  void chunk(Session& session, const wire::Chunk& chunk, const Message& message);
  void answer_status(Session& session, const wire::StatusRequest& request);
  void greet_server(Session& session, const wire::ServerHello& hello);
  void kept(Session& session);
  void pushed(Session& session, const wire::Pushed& pushed);
  void fetched(Session& session, const wire::Fetched& fetched);
  void heard(const Session& session);
  void gone(Session& session, const std::string& why);

  // For the stage, on the coordinator's thread.
  Seconds now() const { return clock_.elapsed(); }
  void start(Task task);
  std::optional<Arrival> next(Seconds until);
  std::vector<Change> take_changes();
  bool is_there(int node) const { return there_[static_cast<std::size_t>(node)] != 0; }
  void leave_engine();

 private:
  using Item = std::variant<Arrival, Change>;

  Place& at(int node) { return places_[static_cast<std::size_t>(node)]; }
  void give_place(Session& session);
  int free_place(int wanted);
  /// Whether it speaks the protocol and knows the token; otherwise it is refused.
  bool acceptable(Session& session, std::uint32_t protocol, const std::string& token);
  void refuse(Session& session, const std::string& why);
  /// It may try again.
  void put_off(Session& session, const std::string& why);
  /// What a push brought, or that it cannot be used.
  template <class F>
  void settle(Place& place, F step) {
    try {
      if (auto arrival = step()) put(std::move(*arrival));
    } catch (const Error& problem) {
      put(place.spoil(problem.what(), now()));
    }
  }
  /// Nodes may go and find their sources.
  bool open() const { return job_ && (!servers_ || servers_->all_keep()); }
  void welcome_all();
  void put(Item item);
  void tick();
  int joined() const;
  /// Servers are known to the heartbeats by numbers after those of the places.
  int beats_of(int server) const { return options_.most + server; }
  void await_servers();
  /// Its own host may be known to workers by another name.
  std::string port() const { return address().substr(address().rfind(':') + 1); }
  /// Whether the wait has to end: a signal has come, or nobody is there for too long.
  void check_patience(Seconds since) const;

  NodesOptions options_;
  Stopwatch clock_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Place> places_;
  std::vector<char> there_;  // when the stage was made
  NodeMemories memories_;
  std::deque<Item> items_;
  Heartbeats heartbeats_;
  std::optional<Job> job_;
  std::uint64_t job_id_;
  std::vector<std::shared_ptr<Session>> waiting_;  // have said hello before there was a job
  std::map<const Session*, std::shared_ptr<Channel>> open_;
  std::unique_ptr<Servers> servers_;  // null: the model is kept here
  NodeModel* model_ = nullptr;
  std::string status_ = "{}";
  std::string failure_;  // of the run
  std::uint64_t ignored_ = 0;
  bool closing_ = false;
  std::thread ticker_;
  std::unique_ptr<Listener> listener_;  // last: its conversations use all of the above
};

/// `registry` outlives it.
std::unique_ptr<Stage> make_node_stage(Registry& registry);

}  // namespace evener
