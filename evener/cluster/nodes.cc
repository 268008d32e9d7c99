#include "evener/cluster/nodes.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "evener/cluster/registry.h"

namespace evener {

Registry::Registry(const NodesOptions& options)
    : options_(options),
      there_(static_cast<std::size_t>(options.most), 0),
      memories_(static_cast<std::size_t>(options.most)),
      heartbeats_(options.heartbeats),
      job_id_(std::random_device{}()) {
  for (int i = 0; i < options.most; ++i) places_.emplace_back(i);
  if (options.servers > 0) {
    const auto& limits = options.heartbeats;
    servers_ = std::make_unique<Servers>(options.servers, limits.beat, limits.evict);
  }
  listener_ = options.transport->listen(options.listen, [this](std::shared_ptr<Channel> channel) {
    auto session = std::make_shared<Session>(*this, std::move(channel));
    const std::lock_guard lock(mutex_);
    open_[session.get()] = session->shared_channel();
    return session;
  });
  ticker_ = std::thread([this] { tick(); });
}

/// Nodes are told, and have a moment to go by themselves: what is cut off they would take for a
/// broken connection.
Registry::~Registry() {
  wire::Head head;
  {
    std::unique_lock lock(mutex_);
    wire::Farewell& farewell = *head.mutable_farewell();
    farewell.set_failed(!failure_.empty());
    farewell.set_why(failure_.empty() ? "the run is over" : "the run has failed: " + failure_);
    closing_ = true;
    for (auto& [session, channel] : open_) channel->send(message_of(head));
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::seconds(2), [this] { return open_.empty(); });
  }
  ticker_.join();
  listener_.reset();
}

void Registry::offer(Job job) {
  const std::lock_guard lock(mutex_);
  job_ = std::move(job);
  welcome_all();
}

void Registry::welcome_all() {
  if (!open()) return;
  for (const auto& session : std::exchange(waiting_, {})) give_place(*session);
}

std::vector<WorkerTraits> Registry::places() const {
  std::vector<WorkerTraits> traits(static_cast<std::size_t>(options_.most));
  for (std::size_t i = 0; i < traits.size(); ++i) traits[i].name = fmt::format("node {}", i);
  return traits;
}

std::unique_ptr<Models> Registry::make_models(const ModelSetup& setup,
                                              const StrategyChoice& strategy) {
  await_servers();
  const Compression compression = compression_of(strategy);
  auto model = servers_ ? make_node_model(setup, places_.size(), compression, memories_, *servers_)
                        : make_node_model(setup, places_.size(), compression, memories_);
  model_ = model.get();
  return model;
}

std::unique_ptr<Stage> Registry::make_stage() {
  std::unique_lock lock(mutex_);
  if (joined() < options_.least) {
    options_.say(fmt::format(
        "waiting for {}{} at {}",
        options_.least == 1 ? "a worker" : fmt::format("{} workers", options_.least),
        options_.most > options_.least ? fmt::format(" (places for {})", options_.most) : "",
        listener_->address()));
  }
  for (const Seconds since = now(); joined() < options_.least;) {
    changed_.wait_for(lock, std::chrono::milliseconds(200));
    if (servers_) servers_->check();
    check_patience(since);
  }
  if (const int most = options_.most; joined() < most) {
    options_.say(
        fmt::format("{} of {} places taken: each has 1/{} of a batch", joined(), most, most));
  }
  for (std::size_t i = 0; i < places_.size(); ++i) there_[i] = places_[i].joined ? 1 : 0;
  items_.clear();
  return make_node_stage(*this);
}

void Registry::check_patience(Seconds since) const {
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

void Registry::greet(const std::shared_ptr<Session>& session) {
  const std::lock_guard lock(mutex_);
  if (!acceptable(*session, session->hello.protocol(), session->hello.token())) return;
  if (session->place >= 0) return refuse(*session, "it has a place already");
  if (open()) {
    give_place(*session);
  } else {
    waiting_.push_back(session);
  }
}

bool Registry::acceptable(Session& session, std::uint32_t protocol, const std::string& token) {
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

void Registry::refuse(Session& session, const std::string& why) {
  wire::Head head;
  head.mutable_refusal()->set_why(why);
  session.channel().send(message_of(head));
  options_.say(fmt::format("a worker was refused: {}", why));
}

void Registry::put_off(Session& session, const std::string& why) {
  wire::Head head;
  head.mutable_refusal()->set_why(why);
  head.mutable_refusal()->set_later(true);
  session.channel().send(message_of(head));
}

int Registry::free_place(int wanted) {
  const auto free = [&](int i) { return at(i).session == nullptr; };
  if (wanted >= 0 && wanted < options_.most && free(wanted)) return wanted;
  for (int i = 0; i < options_.most; ++i) {
    if (free(i)) return i;
  }
  return -1;
}

void Registry::give_place(Session& session) {
  // One that lost its connection is back before that was noticed here.
  for (auto& place : places_) {
    if (place.channel && place.name == session.hello.name()) {
      place.channel->close("it has connected anew");
      return put_off(session, "its old connection is still being closed");
    }
  }
  const int index = free_place(session.hello.rank());
  if (index < 0) {
    return put_off(session, options_.most == 1
                                ? "the run is full, its one place (--workers) is taken"
                                : fmt::format("the run is full, all its {} places (--workers) are "
                                              "taken",
                                              options_.most));
  }
  Place& place = at(index);
  place.session = &session;
  place.channel = session.shared_channel();
  place.name = session.hello.name();
  ++place.generation;
  session.place = index;
  heartbeats_.heard(index, now());
  wire::Head head;
  wire::Welcome& welcome = *head.mutable_welcome();
  welcome.set_job(job_id_);
  welcome.set_node(static_cast<std::uint32_t>(index));
  welcome.set_generation(place.generation);
  set_job(*job_, welcome);
  if (servers_) {
    for (auto& address : servers_->addresses()) welcome.add_servers(std::move(address));
  }
  welcome.set_heartbeat(options_.heartbeats.beat);
  welcome.set_evict(options_.heartbeats.evict);
  place.channel->send(message_of(head));
}

void Registry::ready(Session& session, const wire::Ready& ready) {
  const std::lock_guard lock(mutex_);
  if (session.place < 0 || at(session.place).joined) throw Error("it is ready without a place");
  if (print_of(ready.data()) != job_->data) {
    return refuse(session,
                  fmt::format("its data ({} rows, {} features, {} labels) is not the data of the "
                              "run ({}, {}, {})",
                              ready.data().rows(), ready.data().features(), ready.data().labels(),
                              job_->data.rows, job_->data.features, job_->data.labels));
  }
  at(session.place).joined = true;
  memories_.join(session.place, session.shared_channel());
  put(Change{Change::Kind::joined, session.place, "", ready.most_rows()});
}

void Registry::recalled(Session& session, const wire::Memory& memory) {
  if (session.place < 0) throw Error("it remembers without a place");
  memories_.recalled(session.place, memory);
}

void Registry::push(Session& session, const wire::Push& push) {
  if (session.place < 0) throw Error("it pushes without a place");
  const std::lock_guard lock(mutex_);
  Place& place = at(session.place);
  if (!push.failure().empty()) throw Error(push.failure());
  if (model_ == nullptr) return;
  if (!place.expects(push)) {
    ++ignored_;
    return;
  }
  settle(place, [&] { return place.begin_push(push, now()); });
}

void Registry::chunk(Session& session, const wire::Chunk& chunk, const Message& message) {
  if (session.server >= 0) return servers_->chunk(session.server, chunk, message);
  if (session.place < 0) throw Error("it pushes without a place");
  if (memories_.chunk(session.place, chunk, message)) return;
  Place& place = at(session.place);
  try {
    if (auto arrival = place.take_chunk(chunk, message, now())) {
      const std::lock_guard lock(mutex_);
      put(std::move(*arrival));
    }
  } catch (const Error& problem) {
    const std::lock_guard lock(mutex_);
    put(place.spoil(problem.what(), now()));
  }
}

void Registry::answer_status(Session& session, const wire::StatusRequest& request) {
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

void Registry::heard(const Session& session) {
  const std::lock_guard lock(mutex_);
  if (session.server >= 0) heartbeats_.heard(beats_of(session.server), now());
  if (session.place < 0) return;
  if (heartbeats_.heard(session.place, now()) && at(session.place).joined) {
    put(Change{Change::Kind::trusted, session.place, "", 0});
  }
}

void Registry::gone(Session& session, const std::string& why) {
  const std::lock_guard lock(mutex_);
  open_.erase(&session);
  std::erase_if(waiting_, [&](const auto& other) { return other.get() == &session; });
  changed_.notify_all();
  if (session.server >= 0) {
    heartbeats_.forget(beats_of(session.server));
    servers_->leave(session.server, why);
  }
  if (session.place < 0) return;
  Place& place = at(session.place);
  auto task = place.abandon();
  heartbeats_.forget(session.place);
  memories_.leave(session.place);
  const bool was_joined = std::exchange(place.joined, false);
  place.session = nullptr;
  place.channel.reset();
  if (!was_joined) return;
  if (task) {
    Arrival failed;
    failed.task = std::move(*task);
    failed.failure = why;
    put(std::move(failed));
  } else {
    put(Change{Change::Kind::lost, session.place, why, 0});
  }
}

void Registry::start(Task task) {
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
  Place& place = at(task.worker);
  place.assign(task, now(), *model_);
  const std::shared_ptr<Channel> channel = place.channel;
  lock.unlock();
  memories_.tell(task.worker, *channel);
  place.order(*channel);
}

std::optional<Arrival> Registry::next(Seconds until) {
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

std::vector<Change> Registry::take_changes() {
  const std::lock_guard lock(mutex_);
  std::vector<Change> changes;
  while (!items_.empty() && std::holds_alternative<Change>(items_.front())) {
    changes.push_back(std::get<Change>(items_.front()));
    items_.pop_front();
  }
  return changes;
}

void Registry::leave_engine() {
  const std::lock_guard lock(mutex_);
  for (auto& place : places_) place.abandon();
  items_.clear();
  model_ = nullptr;
}

void Registry::put(Item item) {
  items_.push_back(std::move(item));
  changed_.notify_all();
}

void Registry::tick() {
  wire::Head beat;
  beat.mutable_beat();
  std::unique_lock lock(mutex_);
  while (!closing_) {
    // Those who wait for a place, too: the data may take its time to be read.
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

int Registry::joined() const {
  return static_cast<int>(
      std::count_if(places_.begin(), places_.end(), [](const Place& p) { return p.joined; }));
}

std::unique_ptr<Nodes> make_nodes(const NodesOptions& options) {
  return std::make_unique<Registry>(options);
}

}  // namespace evener
