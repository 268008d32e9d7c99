#include "evener/cluster/parameter_server/worker.h"

#include <deque>
#include <utility>

#include <fmt/format.h>

#include "evener/cluster/membership/heartbeat_thread.h"
#include "evener/cluster/membership/reconnect.h"
#include "evener/cluster/membership/worker_key.h"
#include "evener/cluster/parameter_server/shard_client.h"
#include "evener/cluster/parameter_server/worker_states.h"
#include "evener/cluster/transport/inbox.h"
#include "evener/runtime/emulated_speed.h"

namespace evener {

namespace {

/// What a worker keeps when it reconnects.
struct JobState {
  /// It shows the coordinator that a worker which reconnects is the same process.
  std::string identity = random_secret();
  NodeWork work;
  Job job;
  int slot = -1;
};

/// One connection to the coordinator, from hello to its end.
class CoordinatorClient {
 public:
  CoordinatorClient(const WorkerOptions& options, const MakeNodeWork& make, JobState& job_state)
      : options_(options),
        make_(make),
        job_state_(job_state),
        channel_(
            options.transport->connect(options.coordinator, std::make_shared<Inbox>(events_))) {
    wire::Head head;
    wire::Hello& hello = *head.mutable_hello();
    hello.set_protocol(kProtocol);
    hello.set_token(options.token);
    hello.set_name(options.name);
    hello.set_rank(options.rank);
    hello.set_identity(job_state.identity);
    channel_->send(message_of(head));
  }
  ~CoordinatorClient() {
    heartbeat_.reset();
    channel_->close("the worker leaves");
  }
  CoordinatorClient(const CoordinatorClient&) = delete;
  CoordinatorClient& operator=(const CoordinatorClient&) = delete;

  /// `why`: of a connection that was lost.
  SessionEnd run(std::string& why) {
    for (;;) {
      const auto event = events_.get_within(kLook);
      if (options_.interrupted && options_.interrupted() != 0) {
        leave();
        return SessionEnd::signal;
      }
      if (!server_lost_.empty() && since_lost_.elapsed() > kLeave) {
        why = server_lost_;
        return SessionEnd::lost;
      }
      if (!event) {
        const Seconds silence = heard_.elapsed();
        if (silence < (welcomed_ ? evict_ : kAnswer)) continue;
        why = fmt::format("no heartbeat for {:.0f} s", silence);
        return SessionEnd::lost;
      }
      if (const std::string* end = event->end()) {
        why = *end;
        if (event->from == 0) return SessionEnd::lost;
        if (server_lost_.empty()) since_lost_ = {};
        server_lost_ = fmt::format("server {}: {}", event->from - 1, *end);
        continue;
      }
      if (event->from == 0) heard_ = {};
      if (heartbeat_) heartbeat_->advance();
      if (!take(event->from, event->message())) return end_;
      if (!put_off_.empty()) {
        why = put_off_;
        return SessionEnd::put_off;
      }
    }
  }
  bool welcomed() const { return welcomed_; }

 private:
  // A server that has left usually received the message that the run is over earlier.
  static constexpr Seconds kLeave = 2;

  /// Returns false where the run is over.
  bool take(int from, const Message& message) {
    const wire::Head head = head_of(message);
    switch (head.kind_case()) {
      case wire::Head::kWelcome:
        accept_job(head.welcome());
        return true;
      case wire::Head::kRefusal:
        if (head.refusal().later()) {
          put_off_ = head.refusal().why();
          return true;
        }
        throw Error(fmt::format("the coordinator refuses this worker: {}", head.refusal().why()));
      case wire::Head::kOrder:
        if (shards_.empty()) {
          throw Error("an order before the welcome");
        }
        if (from == 0) order_ = head.order();
        if (ShardClient* shard = shard_of(from)) {
          shard->begin(head.order(), job_state_.work.replica->pulled());
        }
        do_order_if_complete();
        return true;
      case wire::Head::kFetchWorkerState:
        for (auto& part :
             messages_of(job_state_.work.replica->state(head.fetch_worker_state().applied()),
                         state_format())) {
          channel_->send(std::move(part));
        }
        return true;
      case wire::Head::kWorkerState:
        if (!state_) state_.emplace(state_format());
        if (state_->begin(head.worker_state())) restore_state();
        return true;
      case wire::Head::kChunk:
        if (from == 0 && state_) {
          if (state_->feed(head.chunk(), message)) restore_state();
          return true;
        }
        if (ShardClient* shard = shard_of(from)) shard->feed(head.chunk(), message);
        do_order_if_complete();
        return true;
      case wire::Head::kLeave:
        options_.say(head.leave().why());
        end_ = head.leave().failed() ? SessionEnd::failed : SessionEnd::over;
        return false;
      default:
        return true;  // a heartbeat
    }
  }

  void accept_job(const wire::Welcome& welcome) {
    welcomed_ = true;
    generation_ = welcome.generation();
    evict_ = welcome.evict();
    heartbeat_.emplace(*channel_, welcome.heartbeat());
    Job job = job_of(welcome);
    const int slot = static_cast<int>(welcome.node());
    // A worker that only lost its connection keeps its data and device.
    if (!job_state_.work.replica || job.options != job_state_.job.options ||
        job.batch != job_state_.job.batch || slot != job_state_.slot) {
      job_state_.work = make_(job, slot);
      job_state_.job = std::move(job);
      job_state_.slot = slot;
    }
    push_ = FloatBuffer(layout_of(job_state_.work.network).size);
    state_format_.emplace(job_state_.work.network, Compression{});
    connect_shards(welcome);
    wire::Head head;
    head.mutable_ready()->set_most_rows(job_state_.work.most_rows);
    set_fingerprint(job_state_.work.data, *head.mutable_ready()->mutable_data());
    channel_->send(message_of(head));
    options_.say(fmt::format("joined as node {}", slot));
  }

  const ModelUpdateFormat& state_format() {
    if (!state_format_) throw Error("a worker state before the welcome");
    return *state_format_;
  }
  void restore_state() {
    job_state_.work.replica->restore(state_->take());
    state_.reset();
  }

  void connect_shards(const wire::Welcome& welcome) {
    const NodeWork& work = job_state_.work;
    servers_ = welcome.servers_size();
    if (servers_ == 0) shards_.emplace_back(channel_, whole_shard(work.network), work.compression);
    const auto shards = shards_of(work.network, static_cast<std::size_t>(servers_));
    for (int i = 0; i < servers_; ++i) {
      auto channel =
          options_.transport->connect(welcome.servers(i), std::make_shared<Inbox>(events_, i + 1));
      wire::Head head;
      wire::WorkerHello& worker_hello = *head.mutable_worker_hello();
      worker_hello.set_protocol(kProtocol);
      worker_hello.set_token(options_.token);
      worker_hello.set_node(welcome.node());
      worker_hello.set_generation(generation_);
      worker_hello.set_key(welcome.server_key());
      channel->send(message_of(head));
      shards_.emplace_back(std::move(channel), shards[static_cast<std::size_t>(i)],
                           work.compression);
    }
  }
  /// Null: the sender is a coordinator that holds no shard.
  ShardClient* shard_of(int from) {
    const int index = servers_ == 0 ? 0 : from - 1;
    return index < 0 || shards_.empty() ? nullptr : &shards_[static_cast<std::size_t>(index)];
  }

  void do_order_if_complete() {
    for (const auto& shard : shards_) {
      if (!shard.has(order_.sequence())) return;
    }
    do_order();
  }

  void do_order() {
    Task task;
    for (const auto& step : order_.steps()) {
      const std::span rows(step.rows().data(), static_cast<std::size_t>(step.rows_size()));
      task.parts.push_back({{rows, rows.size(), 0}, {step.number(), step.learning_rate()}});
    }
    wire::Head head;
    wire::Push& push = *head.mutable_push();
    push.set_sequence(order_.sequence());
    push.set_generation(generation_);
    try {
      const Stopwatch watch;
      Pull pull;
      for (auto& shard : shards_) shard.add_to(pull);
      job_state_.work.replica->take(pull, task);
      push.set_loss_sum(job_state_.work.replica->train(task));
      sleep_for_speed(watch.elapsed(), options_.speed, [this] {
        if (heartbeat_) heartbeat_->advance();  // it does not hang
        return true;
      });
      push.set_compute(watch.elapsed());
      job_state_.work.replica->difference(push_.span());
    } catch (const DeviceError& problem) {
      push.set_failure(problem.what());
      channel_->send(message_of(head));
      throw;
    }
    const auto& rows = job_state_.work.replica->changed();
    for (auto& shard : shards_) shard.push(head, rows, std::as_const(push_).span());
    if (servers_ > 0) channel_->send(message_of(head));  // the loss and the time
  }

  void leave() {
    wire::Head head;
    head.mutable_leave()->set_why("it was stopped by a signal");
    channel_->send(message_of(head));
    drain(events_);
  }

  const WorkerOptions& options_;
  const MakeNodeWork& make_;
  JobState& job_state_;
  ChannelEvents events_;  // from the coordinator, 0, and from the shard servers
  std::shared_ptr<Channel> channel_;
  std::optional<HeartbeatThread> heartbeat_;
  Stopwatch heard_;
  bool welcomed_ = false;
  std::uint64_t generation_ = 0;
  Seconds evict_ = 0;
  int servers_ = 0;
  std::deque<ShardClient> shards_;
  std::string put_off_;      // why there is no slot now
  std::string server_lost_;  // which server, and why
  Stopwatch since_lost_;
  wire::Order order_;
  FloatBuffer push_;
  std::optional<ModelUpdateFormat> state_format_;
  std::optional<WorkerStateReader> state_;  // that the coordinator sends
  SessionEnd end_ = SessionEnd::over;       // from the leave message
};

}  // namespace

int run_worker(const WorkerOptions& given, const MakeNodeWork& make) {
  const WorkerOptions options = with_transport(given);
  JobState job_state;
  return run_until_over({options.coordinator, options.patience, options.interrupted, options.say},
                        [&](std::string& why, bool& useful) {
                          CoordinatorClient client(options, make, job_state);
                          const SessionEnd end = client.run(why);
                          useful = client.welcomed();
                          return end;
                        });
}

}  // namespace evener
