#include "evener/cluster/parameter_server/coordinator_service.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "evener/cluster/parameter_server/coordinator.h"

namespace evener {

CoordinatorService::CoordinatorService(const CoordinatorOptions& options)
    : options_(options),
      there_(static_cast<std::size_t>(options.most), 0),
      worker_states_(static_cast<std::size_t>(options.most)),
      heartbeats_(options.heartbeats),
      job_id_(std::random_device{}()) {
  for (int i = 0; i < options.most; ++i) slots_.emplace_back(i);
  if (options.servers > 0) {
    const auto& limits = options.heartbeats;
    servers_ = std::make_unique<ShardServers>(options.servers, limits.beat, limits.evict);
  }
  listener_ = options.transport->listen(options.listen, [this](std::shared_ptr<Channel> channel) {
    auto session = std::make_shared<ClientSession>(*this, std::move(channel));
    const std::lock_guard lock(mutex_);
    open_[session.get()] = session->shared_channel();
    return session;
  });
  ticker_ = std::thread([this] { tick(); });
}

/// Workers are told, and have a moment to go by themselves: what is cut off they would
/// take for a broken connection.
CoordinatorService::~CoordinatorService() {
  wire::Head head;
  {
    std::unique_lock lock(mutex_);
    wire::Leave& leave = *head.mutable_leave();
    leave.set_failed(!failure_.empty());
    leave.set_why(failure_.empty() ? "the run is over" : "the run has failed: " + failure_);
    closing_ = true;
    for (auto& [session, channel] : open_) channel->send(message_of(head));
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::seconds(2), [this] { return open_.empty(); });
  }
  ticker_.join();
  listener_.reset();
}

void CoordinatorService::offer(Job job) {
  const std::lock_guard lock(mutex_);
  job_ = std::move(job);
  welcome_all();
}

void CoordinatorService::welcome_all() {
  if (!open()) return;
  for (const auto& session : std::exchange(waiting_, {})) give_slot(*session);
}

std::vector<WorkerTraits> CoordinatorService::slots() const {
  std::vector<WorkerTraits> traits(static_cast<std::size_t>(options_.most));
  for (std::size_t i = 0; i < traits.size(); ++i) traits[i].name = fmt::format("node {}", i);
  return traits;
}

std::unique_ptr<Models> CoordinatorService::make_models(const ModelSetup& setup,
                                                        const StrategyChoice& strategy) {
  await_servers();
  const Compression compression = strategy.compression();
  auto model = servers_
                   ? make_served_model(setup, slots_.size(), compression, worker_states_, *servers_)
                   : make_served_model(setup, slots_.size(), compression, worker_states_);
  model_ = model.get();
  return model;
}

std::unique_ptr<Executor> CoordinatorService::make_executor() {
  std::unique_lock lock(mutex_);
  if (joined() < options_.least) {
    options_.say(fmt::format(
        "waiting for {}{} at {}",
        options_.least == 1 ? "a worker" : fmt::format("{} workers", options_.least),
        options_.most > options_.least ? fmt::format(" (slots for {})", options_.most) : "",
        listener_->address()));
  }
  for (const Seconds since = now(); joined() < options_.least;) {
    changed_.wait_for(lock, std::chrono::milliseconds(200));
    if (servers_) servers_->check();
    check_patience(since);
  }
  if (const int most = options_.most; joined() < most) {
    options_.say(
        fmt::format("{} of {} slots taken: each has 1/{} of a batch", joined(), most, most));
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) there_[i] = slots_[i].joined ? 1 : 0;
  items_.clear();
  return make_cluster_executor(*this);
}

void CoordinatorService::check_patience(Seconds since) const {
  if (options_.interrupted && options_.interrupted() != 0) {
    throw Error("interrupted while there were no workers");
  }
  if (now() - since < options_.patience) return;
  throw Error(
      fmt::format("{} of {} for {:g} s: start workers with `evener worker --coordinator "
                  "HOST:{}`, or wait longer with --wait-seconds",
                  joined() == 0 ? "no worker" : fmt::format("{} workers", joined()), options_.least,
                  options_.patience, port()));
}

void CoordinatorService::greet(const std::shared_ptr<ClientSession>& session) {
  const std::lock_guard lock(mutex_);
  if (!acceptable(*session, session->hello.protocol(), session->hello.token())) return;
  if (session->slot >= 0) return refuse(*session, "it has a slot already");
  if (open()) {
    give_slot(*session);
  } else {
    waiting_.push_back(session);
  }
}

bool CoordinatorService::acceptable(ClientSession& session, std::uint32_t protocol,
                                    const std::string& token) {
  if (protocol != kProtocol) {
    refuse(session, fmt::format("it speaks version {} of the protocol, this is version {}",
                                protocol, kProtocol));
    return false;
  }
  if (token != options_.token) {
    refuse(session, "it does not know the token");
    return false;
  }
  return true;
}

void CoordinatorService::refuse(ClientSession& session, const std::string& why) {
  wire::Head head;
  head.mutable_refusal()->set_why(why);
  session.channel().send(message_of(head));
  options_.say(fmt::format("a worker was refused: {}", why));
}

void CoordinatorService::put_off(ClientSession& session, const std::string& why) {
  wire::Head head;
  head.mutable_refusal()->set_why(why);
  head.mutable_refusal()->set_later(true);
  session.channel().send(message_of(head));
}

int CoordinatorService::free_slot(int wanted) {
  const auto free = [&](int i) { return at(i).session == nullptr; };
  if (wanted >= 0 && wanted < options_.most && free(wanted)) return wanted;
  for (int i = 0; i < options_.most; ++i) {
    if (free(i)) return i;
  }
  return -1;
}

void CoordinatorService::give_slot(ClientSession& session) {
  // One that lost its connection is back before that was noticed here.
  for (auto& slot : slots_) {
    if (slot.channel && slot.name == session.hello.name()) {
      slot.channel->close("it has connected anew");
      return put_off(session, "its old connection is still being closed");
    }
  }
  const int index = free_slot(session.hello.rank());
  if (index < 0) {
    return put_off(session, options_.most == 1
                                ? "the run is full, its one slot (--workers) is taken"
                                : fmt::format("the run is full, all its {} slots (--workers) are "
                                              "taken",
                                              options_.most));
  }
  WorkerSlot& slot = at(index);
  slot.session = &session;
  slot.channel = session.shared_channel();
  slot.name = session.hello.name();
  ++slot.generation;
  session.slot = index;
  heartbeats_.heard(index, now());
  wire::Head head;
  wire::Welcome& welcome = *head.mutable_welcome();
  welcome.set_job(job_id_);
  welcome.set_node(static_cast<std::uint32_t>(index));
  welcome.set_generation(slot.generation);
  set_job(*job_, welcome);
  if (servers_) {
    for (auto& address : servers_->addresses()) welcome.add_servers(std::move(address));
  }
  welcome.set_heartbeat(options_.heartbeats.beat);
  welcome.set_evict(options_.heartbeats.evict);
  slot.channel->send(message_of(head));
}

void CoordinatorService::ready(ClientSession& session, const wire::Ready& ready) {
  const std::lock_guard lock(mutex_);
  if (session.slot < 0 || at(session.slot).joined) throw Error("it is ready without a slot");
  if (fingerprint_of(ready.data()) != job_->data) {
    return refuse(session,
                  fmt::format("its data ({} rows, {} features, {} labels) is not the data of the "
                              "run ({}, {}, {})",
                              ready.data().rows(), ready.data().features(), ready.data().labels(),
                              job_->data.rows, job_->data.features, job_->data.labels));
  }
  at(session.slot).joined = true;
  worker_states_.join(session.slot, session.shared_channel());
  put(Change{Change::Kind::joined, session.slot, "", ready.most_rows()});
}

void CoordinatorService::worker_state_arrived(ClientSession& session,
                                              const wire::WorkerState& memory) {
  if (session.slot < 0) throw Error("it remembers without a slot");
  worker_states_.worker_state_arrived(session.slot, memory);
}

void CoordinatorService::push(ClientSession& session, const wire::Push& push) {
  if (session.slot < 0) throw Error("it pushes without a slot");
  const std::lock_guard lock(mutex_);
  WorkerSlot& slot = at(session.slot);
  if (!push.failure().empty()) throw Error(push.failure());
  if (model_ == nullptr) return;
  if (!slot.expects(push)) {
    ++ignored_;
    return;
  }
  finish_push(slot, [&] { return slot.begin_push(push, now()); });
}

void CoordinatorService::chunk(ClientSession& session, const wire::Chunk& chunk,
                               const Message& message) {
  if (session.server >= 0) return servers_->chunk(session.server, chunk, message);
  if (session.slot < 0) throw Error("it pushes without a slot");
  if (worker_states_.chunk(session.slot, chunk, message)) return;
  WorkerSlot& slot = at(session.slot);
  try {
    if (auto arrival = slot.take_chunk(chunk, message, now())) {
      const std::lock_guard lock(mutex_);
      put(std::move(*arrival));
    }
  } catch (const Error& problem) {
    const std::lock_guard lock(mutex_);
    put(slot.mark_invalid(problem.what(), now()));
  }
}

void CoordinatorService::answer_status(ClientSession& session, const wire::StatusRequest& request) {
  const std::lock_guard lock(mutex_);
  if (request.token() != options_.token) return refuse(session, "it does not know the token");
  wire::Head head;
  // What is told after each step is old when nobody is left to do one.
  std::string servers;
  if (servers_) {
    servers =
        fmt::format(R"(,"servers_there":{},"servers":{})", servers_->joined(), options_.servers);
  }
  head.mutable_status()->set_json(fmt::format(R"({{"workers_there":{}{}{}{})", joined(), servers,
                                              status_ == "{}" ? "" : ",", status_.substr(1)));
  session.channel().send(message_of(head));
}

void CoordinatorService::heard(const ClientSession& session) {
  const std::lock_guard lock(mutex_);
  if (session.server >= 0) heartbeats_.heard(beats_of(session.server), now());
  if (session.slot < 0) return;
  if (heartbeats_.heard(session.slot, now()) && at(session.slot).joined) {
    put(Change{Change::Kind::trusted, session.slot, "", 0});
  }
}

void CoordinatorService::gone(ClientSession& session, const std::string& why) {
  const std::lock_guard lock(mutex_);
  open_.erase(&session);
  std::erase_if(waiting_, [&](const auto& other) { return other.get() == &session; });
  changed_.notify_all();
  if (session.server >= 0) {
    heartbeats_.forget(beats_of(session.server));
    servers_->leave(session.server, why);
  }
  if (session.slot < 0) return;
  WorkerSlot& slot = at(session.slot);
  auto task = slot.abandon();
  heartbeats_.forget(session.slot);
  worker_states_.leave(session.slot);
  const bool was_joined = std::exchange(slot.joined, false);
  slot.session = nullptr;
  slot.channel.reset();
  if (!was_joined) return;
  if (task) {
    Arrival failed;
    failed.task = std::move(*task);
    failed.failure = why;
    put(std::move(failed));
  } else {
    put(Change{Change::Kind::lost, session.slot, why, 0});
  }
}

void CoordinatorService::start(Task task) {
  std::unique_lock lock(mutex_);
  // Its loss is on the way: it becomes this task's failure.
  for (auto& item : items_) {
    const auto* change = std::get_if<Change>(&item);
    if (change == nullptr || change->kind != Change::Kind::lost || change->worker != task.worker) {
      continue;
    }
    Arrival failed;
    failed.failure = change->why;
    failed.task = std::move(task);
    item = std::move(failed);
    return;
  }
  WorkerSlot& slot = at(task.worker);
  slot.assign(task, now(), *model_);
  const std::shared_ptr<Channel> channel = slot.channel;
  lock.unlock();
  worker_states_.tell(task.worker, *channel);
  slot.order(*channel);
}

std::optional<Arrival> CoordinatorService::next(Seconds until) {
  std::unique_lock lock(mutex_);
  const Seconds since = now();
  bool told = false;
  while (items_.empty()) {
    if (servers_) servers_->check();
    if (now() >= until) return std::nullopt;
    changed_.wait_for(lock, std::chrono::duration<double>(std::min(0.2, until - now())));
    if (joined() > 0 || !items_.empty()) continue;
    if (!std::exchange(told, true)) {
      options_.say(
          fmt::format("no worker is there; waiting for one for {:g} s", options_.patience));
    }
    check_patience(since);
  }
  if (!std::holds_alternative<Arrival>(items_.front())) return std::nullopt;
  Arrival arrival = std::move(std::get<Arrival>(items_.front()));
  items_.pop_front();
  return arrival;
}

std::vector<Change> CoordinatorService::take_changes() {
  const std::lock_guard lock(mutex_);
  std::vector<Change> changes;
  while (!items_.empty() && std::holds_alternative<Change>(items_.front())) {
    changes.push_back(std::get<Change>(items_.front()));
    items_.pop_front();
  }
  return changes;
}

void CoordinatorService::leave_engine() {
  const std::lock_guard lock(mutex_);
  for (auto& slot : slots_) slot.abandon();
  items_.clear();
  model_ = nullptr;
}

void CoordinatorService::put(Item item) {
  items_.push_back(std::move(item));
  changed_.notify_all();
}

void CoordinatorService::tick() {
  wire::Head beat;
  beat.mutable_heartbeat();
  std::unique_lock lock(mutex_);
  while (!closing_) {
    // Those who wait for a slot, too: the data may take its time to be read.
    for (auto& [session, channel] : open_) channel->send(message_of(beat));
    for (const auto& [node, verdict] : heartbeats_.check(now())) {
      if (node >= options_.most) {
        if (verdict == Heartbeats::Verdict::suspected) continue;
        servers_->close(node - options_.most,
                        fmt::format("no sign of life for {:g} s", options_.heartbeats.evict));
        continue;
      }
      if (verdict == Heartbeats::Verdict::suspected) {
        if (!at(node).joined) continue;
        put(Change{Change::Kind::suspected, node, "", 0});
      } else if (at(node).channel) {
        at(node).channel->close(
            fmt::format("no sign of life for {:g} s", options_.heartbeats.evict));
      }
    }
    changed_.wait_for(lock, std::chrono::duration<double>(options_.heartbeats.beat),
                      [this] { return closing_; });
  }
}

std::unique_ptr<ClusterCoordinator> make_coordinator(const CoordinatorOptions& options) {
  return std::make_unique<CoordinatorService>(options);
}

}  // namespace evener
