#include "evener/cluster/parameter_server/coordinator_service.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "evener/cluster/parameter_server/client_session.h"

namespace evener {

namespace {

ShardServersOptions servers_options(const CoordinatorOptions& options, const std::string& secret) {
  return {options.servers,
          secret,
          options.heartbeats,
          options.patience,
          {options.interrupted, options.grace},
          options.say};
}

}  // namespace

CoordinatorService::CoordinatorService(const CoordinatorOptions& options)
    : options_(options),
      membership_(
          {options.token, secret_, options.most, options.heartbeats, options.stall, options.say}),
      orders_(options.most),
      worker_states_(static_cast<std::size_t>(options.most), {options.interrupted, options.grace}),
      job_id_(std::random_device{}()),
      present_at_start_(static_cast<std::size_t>(options.most), 0) {
  if (options.servers > 0)
    servers_ = std::make_unique<ShardServers>(servers_options(options, secret_));
  listener_ = options.transport->listen(options.listen, [this](std::shared_ptr<Channel> channel) {
    auto client = std::make_shared<Client>();
    client->channel = std::move(channel);
    const std::lock_guard lock(mutex_);
    membership_.connected(client, now());
    return std::make_shared<ClientSession>(*this, std::move(client));
  });
  heartbeat_ = std::thread([this] { send_heartbeats(); });
}

/// Sends clients a leave message and gives them a moment to disconnect. If the connection were just
/// closed, they would take it for broken and reconnect.
CoordinatorService::~CoordinatorService() {
  wire::Head head;
  {
    std::unique_lock lock(mutex_);
    wire::Leave& leave = *head.mutable_leave();
    leave.set_failed(!failure_.empty());
    leave.set_why(failure_.empty() ? "the run is over" : "the run has failed: " + failure_);
    closing_ = true;
    membership_.send_all(head);
    changed_.notify_all();
    // Nobody who has pressed Ctrl-C waits for a worker that hangs.
    const std::chrono::milliseconds most(interrupted() ? 300 : 2000);
    changed_.wait_for(lock, most, [this] { return membership_.empty(); });
  }
  heartbeat_.join();
  listener_.reset();
}

void CoordinatorService::offer(Job job) {
  const std::lock_guard lock(mutex_);
  job_ = std::move(job);
  welcome_waiting();
}

std::optional<wire::Welcome> CoordinatorService::welcome() const {
  if (!job_ || (servers_ && !servers_->all_keep())) return std::nullopt;
  wire::Welcome welcome;
  welcome.set_job(job_id_);
  set_job(*job_, welcome);
  if (servers_) {
    for (auto& address : servers_->addresses()) welcome.add_servers(std::move(address));
  }
  return welcome;
}

void CoordinatorService::welcome_waiting() {
  if (const auto message = welcome()) membership_.welcome_waiting(*message, now());
}

std::vector<WorkerTraits> CoordinatorService::slots() const {
  std::vector<WorkerTraits> traits(static_cast<std::size_t>(options_.most));
  for (std::size_t i = 0; i < traits.size(); ++i) traits[i].name = fmt::format("node {}", i);
  return traits;
}

std::unique_ptr<Models> CoordinatorService::make_models(const ModelSetup& setup,
                                                        const StrategyChoice& strategy) {
  if (servers_) servers_->await_all(address());
  const Compression compression = strategy.compression();
  const std::size_t slots = orders_.slots();
  auto model = servers_ ? make_served_model(setup, slots, compression, worker_states_, *servers_)
                        : make_served_model(setup, slots, compression, worker_states_);
  const std::lock_guard lock(mutex_);
  model_ = model.get();
  host_ = model->host();
  return model;
}

std::unique_ptr<Executor> CoordinatorService::make_executor() {
  std::unique_lock lock(mutex_);
  if (membership_.joined() < options_.least) {
    options_.say(fmt::format(
        "waiting for {}{} at {}",
        options_.least == 1 ? "a worker" : fmt::format("{} workers", options_.least),
        options_.most > options_.least ? fmt::format(" (slots for {})", options_.most) : "",
        listener_->address()));
  }
  for (const Seconds since = now(); membership_.joined() < options_.least;) {
    changed_.wait_for(lock, std::chrono::milliseconds(200));
    if (servers_) servers_->check();
    check_patience(since);
  }
  if (const int most = options_.most; membership_.joined() < most) {
    options_.say(fmt::format("{} of {} slots taken: each has 1/{} of a batch", membership_.joined(),
                             most, most));
  }
  for (int i = 0; i < options_.most; ++i) {
    present_at_start_[static_cast<std::size_t>(i)] = membership_.has_joined(i) ? 1 : 0;
  }
  orders_.clear_queue();
  return make_cluster_executor(*this);
}

void CoordinatorService::check_patience(Seconds since) const {
  if (interrupted()) throw Error("interrupted while there were no workers");
  if (now() - since < options_.patience) return;
  const int joined = membership_.joined();
  throw Error(
      fmt::format("{} of {} for {:g} s: start workers with `evener worker --coordinator "
                  "HOST:{}`, or wait longer with --wait-seconds",
                  joined == 0 ? "no worker" : fmt::format("{} workers", joined), options_.least,
                  options_.patience, port()));
}

void CoordinatorService::heard(const Client& client, std::optional<std::uint64_t> progress) {
  const std::lock_guard lock(mutex_);
  if (membership_.heard(client, progress, now()))
    put(MembershipChange{MembershipChange::Kind::trusted, client.slot, "", 0});
}

void CoordinatorService::disconnected(Client& client, const std::string& why) {
  const std::lock_guard lock(mutex_);
  const bool lost = membership_.disconnected(client);
  changed_.notify_all();
  if (client.server >= 0) servers_->leave(client.server, why);
  if (client.slot < 0) return;
  worker_states_.leave(client.slot);
  if (host_) host_->session(static_cast<std::uint64_t>(client.slot)).disconnect(client.channel);
  if (!lost) return;
  orders_.lose(client.slot, why, client.left);
  if (options_.lost && !client.left && !closing_) options_.lost(client.slot, why);
}

void CoordinatorService::answer_status(Client& client, const wire::StatusRequest& request) {
  const std::lock_guard lock(mutex_);
  if (request.token() != options_.token) {
    return membership_.refuse(client, "it does not know the token", now());
  }
  wire::Head head;
  head.mutable_status()->set_json(
      status_.json(membership_.joined(), servers_ ? servers_->joined() : 0, options_.servers));
  client.channel->send(message_of(head));
}

void CoordinatorService::refuse_peer(Client& client) {
  const std::lock_guard lock(mutex_);
  membership_.refuse(client, "this is a coordinator, not a peer: evener worker --coordinator",
                     now());
}

void CoordinatorService::chunk(Client& client, const wire::Chunk& chunk, const Message& message) {
  if (client.server >= 0) return servers_->chunk(client.server, chunk, message);
  if (client.slot < 0) throw Error("it pushes without a slot");
  if (worker_states_.chunk(client.slot, chunk, message)) return;
  std::shared_ptr<ShardHost> host;
  {
    const std::lock_guard lock(mutex_);
    host = host_;
  }
  if (!host) return;
  // Without the lock: copying a chunk takes time.
  const auto worker = static_cast<std::uint64_t>(client.slot);
  const auto part = host->session(worker).feed(chunk, message);
  if (!part) return;
  const std::lock_guard lock(mutex_);
  put(orders_.slot(worker).part_arrived(*part, now()));
}

void CoordinatorService::hello(const std::shared_ptr<Client>& client) {
  const std::lock_guard lock(mutex_);
  membership_.admit(client, welcome(), now());
}

void CoordinatorService::ready(Client& client, const wire::Ready& ready) {
  const std::lock_guard lock(mutex_);
  if (!job_ || !membership_.join(client, ready, job_->data, now())) return;
  worker_states_.join(client.slot, client.channel);
  put(MembershipChange{MembershipChange::Kind::joined, client.slot, "", ready.most_rows()});
}

void CoordinatorService::push(Client& client, const wire::Push& push) {
  if (client.slot < 0) throw Error("it pushes without a slot");
  if (!push.failure().empty()) throw Error(push.failure());
  const std::lock_guard lock(mutex_);
  if (model_ == nullptr) return;
  const auto worker = static_cast<std::uint64_t>(client.slot);
  WorkerSlot& slot = orders_.slot(worker);
  if (!slot.expects(push)) {
    ++ignored_;
    return;
  }
  put(slot.push_arrived(push, now()));
  if (!host_) return;
  if (const auto part = host_->session(worker).begin_push(push)) {
    put(slot.part_arrived(*part, now()));
  }
}

void CoordinatorService::worker_state(Client& client, const wire::WorkerState& state) {
  if (client.slot < 0) throw Error("it sends a state without a slot");
  worker_states_.arrived(client.slot, state);
}

void CoordinatorService::server_hello(Client& client, const wire::ServerHello& hello) {
  const std::lock_guard lock(mutex_);
  if (!membership_.accepts(client, hello.protocol(), hello.token(), now())) return;
  if (!servers_) {
    return membership_.refuse(client, "the coordinator keeps the model itself (--servers 0)",
                              now());
  }
  client.server = servers_->join(client.channel, hello.address());
  if (client.server < 0) {
    return membership_.put_off(
        client,
        fmt::format("the run has as many servers as it asks for (--servers {})", options_.servers));
  }
  membership_.join_server(client, now());
}

void CoordinatorService::kept(Client& client) {
  if (client.server < 0) throw Error("it is not a server");
  const std::lock_guard lock(mutex_);
  servers_->kept(client.server);
  welcome_waiting();
}

void CoordinatorService::pushed(Client& client, const wire::Pushed& pushed) {
  if (client.server < 0) throw Error("it is not a server");
  const std::lock_guard lock(mutex_);
  if (model_ == nullptr || pushed.node() >= orders_.slots()) return;
  put(orders_.slot(pushed.node()).part_arrived(pushed, now()));
}

void CoordinatorService::fetched(Client& client, const wire::Fetched& fetched) {
  if (client.server < 0) throw Error("it is not a server");
  servers_->fetched(client.server, fetched);
}

void CoordinatorService::start(Task task) {
  std::unique_lock lock(mutex_);
  const int worker = task.worker;
  const std::uint64_t generation = membership_.generation(worker);
  const std::shared_ptr<Channel> channel = membership_.channel(worker);
  auto order = orders_.assign(std::move(task), model_->shards(), generation, now());
  if (!order) return;
  if (!channel) {
    throw Error(fmt::format("a task for slot {}, which no worker has", worker));
  }
  lock.unlock();  // sending a large model takes time
  worker_states_.restore(worker, *channel);
  model_->send_order(worker, generation, std::move(*order), channel);
}

std::optional<Arrival> CoordinatorService::next(Seconds until) {
  std::unique_lock lock(mutex_);
  const Seconds since = now();
  bool reported = false;
  while (orders_.empty()) {
    if (servers_) servers_->check();
    if (now() >= until) return std::nullopt;
    changed_.wait_for(lock, std::chrono::duration<double>(std::min(0.2, until - now())));
    if (orders_.empty() && interrupted() && handle_signal()) return std::nullopt;
    if (membership_.joined() > 0 || !orders_.empty()) continue;
    if (!std::exchange(reported, true)) {
      options_.say(
          fmt::format("no worker is there; waiting for one for {:g} s", options_.patience));
    }
    check_patience(since);
  }
  return orders_.take_arrival();
}

bool CoordinatorService::handle_signal() {
  if (!interrupted_at_) {
    interrupted_at_ = now();
    return true;
  }
  if (now() - *interrupted_at_ < options_.grace) return false;
  for (std::size_t i = 0; i < orders_.slots(); ++i) {
    const auto channel = membership_.channel(static_cast<int>(i));
    if (channel && orders_.slot(i).busy()) channel->close("the run was interrupted");
  }
  return false;
}

std::optional<MembershipChange> CoordinatorService::take_change() {
  const std::lock_guard lock(mutex_);
  return orders_.take_change();
}

void CoordinatorService::leave_engine() {
  const std::lock_guard lock(mutex_);
  orders_.abandon_all();
  for (std::size_t i = 0; host_ && i < orders_.slots(); ++i) host_->session(i).revoke();
  model_ = nullptr;
  host_.reset();
}

void CoordinatorService::put(MembershipChange change) {
  orders_.put(std::move(change));
  changed_.notify_all();
}

void CoordinatorService::put(std::optional<Arrival> arrival) {
  if (!arrival) return;
  membership_.completed(arrival->task.worker, now());
  // Shards that received a valid part of the push have to drop it too.
  if (!arrival->invalid.empty()) model_->reject(arrival->task.worker);
  orders_.put(std::move(*arrival));
  changed_.notify_all();
}

void CoordinatorService::send_heartbeats() {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    for (const int worker : membership_.beat(now())) {
      put(MembershipChange{MembershipChange::Kind::suspected, worker, "", 0});
    }
    changed_.wait_for(lock, std::chrono::duration<double>(options_.heartbeats.beat),
                      [this] { return closing_; });
  }
}

std::unique_ptr<ClusterCoordinator> make_coordinator(const CoordinatorOptions& options) {
  return std::make_unique<CoordinatorService>(with_transport(options));
}

}  // namespace evener
