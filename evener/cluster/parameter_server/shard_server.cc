#include "evener/cluster/parameter_server/shard_server.h"

#include <deque>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "evener/cluster/membership/heartbeat_thread.h"
#include "evener/cluster/membership/reconnect.h"
#include "evener/cluster/parameter_server/worker_session.h"
#include "evener/cluster/transport/inbox.h"

namespace evener {

namespace {

/// A shard while it is kept: until the coordinator begins anew, or is gone.
struct HostedShard {
  HostedShard(const Shard& of, std::size_t slots, const Compression& pushes, int threads,
              std::shared_ptr<Channel> to)
      : shard(of, slots, pushes, threads), coordinator(std::move(to)) {
    for (std::size_t i = 0; i < slots; ++i) sessions.emplace_back(static_cast<int>(i));
  }
  /// Nothing happens when the coordinator is gone.
  void tell(const wire::Head& head) {
    const std::lock_guard lock(mutex);
    if (coordinator) coordinator->send(message_of(head));
  }
  /// Conversations with nodes, which end after this, may outlive the one with the coordinator.
  void close(const std::string& why) {
    for (auto& session : sessions) session.close(why);
    const std::lock_guard lock(mutex);
    coordinator.reset();
  }

  ServedShard shard;
  std::deque<WorkerSession> sessions;
  std::mutex mutex;
  std::shared_ptr<Channel> coordinator;
};

/// What all conversations with nodes share.
class ShardHost {
 public:
  std::shared_ptr<HostedShard> kept() const {
    const std::lock_guard lock(mutex_);
    return kept_;
  }
  void set(std::shared_ptr<HostedShard> kept) {
    const std::lock_guard lock(mutex_);
    kept_ = std::move(kept);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<HostedShard> kept_;
};

/// A conversation with a node.
class WorkerConnection final : public Handler {
 public:
  WorkerConnection(const ShardServerOptions& options, ShardHost& host,
                   std::shared_ptr<Channel> channel)
      : options_(options), host_(host), channel_(std::move(channel)) {}

  void received(Message message) override {
    const wire::Head head = head_of(message);
    if (head.has_worker_hello()) return arrive(head.worker_hello());
    if (session_ == nullptr) throw Error("it has not said who it is");
    if (head.has_push()) tell(session_->begin(head.push(), kept_->shard));
    if (head.has_chunk()) tell(session_->feed(head.chunk(), message));
  }
  void ended(const std::string& /*why*/) override {
    if (session_ != nullptr) session_->leave(channel_);
    session_ = nullptr;
    kept_.reset();
  }

 private:
  void arrive(const wire::WorkerHello& worker_hello) {
    if (worker_hello.protocol() != kProtocol)
      throw Error("it speaks another version of the protocol");
    if (worker_hello.token() != options_.token) throw Error("it does not know the token");
    kept_ = host_.kept();
    if (!kept_) throw Error("there is nothing here yet: try again");
    if (worker_hello.node() >= kept_->sessions.size()) throw Error("there is no such node");
    session_ = &kept_->sessions[worker_hello.node()];
    session_->arrive(channel_, worker_hello.generation(), kept_->shard);
  }
  void tell(std::optional<wire::Pushed> pushed) {
    if (!pushed) return;
    wire::Head head;
    *head.mutable_pushed() = std::move(*pushed);
    kept_->tell(head);
  }

  const ShardServerOptions& options_;
  ShardHost& host_;
  std::shared_ptr<Channel> channel_;
  std::shared_ptr<HostedShard> kept_;
  WorkerSession* session_ = nullptr;
};

/// One conversation with the coordinator, from hello to its end.
class CoordinatorConnection {
 public:
  CoordinatorConnection(const ShardServerOptions& options, const std::string& address,
                        ShardHost& host)
      : options_(options),
        host_(host),
        channel_(
            options.transport->connect(options.coordinator, std::make_shared<Inbox>(events_))) {
    wire::Head head;
    wire::ServerHello& hello = *head.mutable_server_hello();
    hello.set_protocol(kProtocol);
    hello.set_token(options.token);
    hello.set_address(address);
    channel_->send(message_of(head));
    heartbeat_.emplace(*channel_, kBeat);
  }
  ~CoordinatorConnection() {
    host_.set(nullptr);
    if (kept_) kept_->close("the coordinator has gone");
    heartbeat_.reset();
    channel_->close("the server leaves");
  }
  CoordinatorConnection(const CoordinatorConnection&) = delete;
  CoordinatorConnection& operator=(const CoordinatorConnection&) = delete;

  /// `why` tells of a loss.
  SessionEnd run(std::string& why) {
    for (;;) {
      const auto event = events_.get_within(kLook);
      if (options_.interrupted && options_.interrupted() != 0) return SessionEnd::signal;
      if (!event) {
        if (heard_.elapsed() < evict_) continue;
        why = fmt::format("no sign of life for {:.0f} s", heard_.elapsed());
        return SessionEnd::lost;
      }
      if (const std::string* end = event->end()) {
        why = *end;
        return SessionEnd::lost;
      }
      heard_ = {};
      if (!take(event->message())) {
        why = put_off_;
        return end_;
      }
    }
  }
  bool useful() const { return kept_ != nullptr; }

 private:
  static constexpr Seconds kBeat = 1;

  /// False: the run is over, or has no slot for it now.
  bool take(const Message& message) {
    const wire::Head head = head_of(message);
    switch (head.kind_case()) {
      case wire::Head::kKeep:
        keep(head.keep());
        return true;
      case wire::Head::kRefusal:
        if (head.refusal().later()) {
          put_off_ = head.refusal().why();
          end_ = SessionEnd::put_off;
          return false;
        }
        throw Error(fmt::format("the coordinator refuses this server: {}", head.refusal().why()));
      case wire::Head::kLeave:
        options_.say(head.leave().why());
        end_ = head.leave().failed() ? SessionEnd::failed : SessionEnd::over;
        return false;
      case wire::Head::kHeartbeat:
        return true;
      default:
        if (!kept_) throw Error("the coordinator asks before it has said what is kept");
        work(head, message);
        return true;
    }
  }

  void keep(const wire::Keep& keep) {
    Shard shard;
    shard.rows = keep.rows();
    shard.width = keep.width();
    shard.floats = keep.floats();
    evict_ = keep.evict();
    const Compression pushes{static_cast<Compression::Kind>(keep.compression())};
    if (kept_) kept_->close("the coordinator begins anew");
    kept_ = std::make_shared<HostedShard>(shard, keep.slots(), pushes, options_.threads, channel_);
    host_.set(kept_);
    wire::Head head;
    head.mutable_kept();
    channel_->send(message_of(head));
    options_.say(fmt::format("keeps {:.1f} MB of the model",
                             static_cast<double>(shard.size() * sizeof(float)) / 1e6));
  }

  void work(const wire::Head& head, const Message& message) {
    ServedShard& shard = kept_->shard;
    switch (head.kind_case()) {
      case wire::Head::kLoad:
        loaded_ = FloatBuffer(shard.pull_format.shard().size());
        loads_model_ = head.load().vector() == 0;
        reader_.emplace(shard.pull_format, header_of(head.load().payload()), loaded_.span());
        return;
      case wire::Head::kChunk:
        if (!reader_) return;
        reader_->feed(head.chunk().offset(), message);
        if (!reader_->complete()) return;
        reader_.reset();
        if (!loads_model_) return shard.store.set_momentum(std::move(loaded_));
        shard.store.renew_all();
        shard.store.model() = std::move(loaded_);
        return;
      case wire::Head::kFetch:
        return send_shard(head.fetch().vector() == 0);
      case wire::Head::kApplyPushes:
        return apply_pushes(head.apply_pushes());
      case wire::Head::kReject:
        return shard.store.reject(desk_of(head.reject().node()));
      case wire::Head::kForget:
        kept_->sessions[static_cast<std::size_t>(desk_of(head.forget().node()))].forget();
        return shard.store.forget(static_cast<int>(head.forget().node()));
      case wire::Head::kGrant:
        return kept_->sessions[static_cast<std::size_t>(desk_of(head.grant().node()))].grant(
            head.grant(), shard);
      default:
        throw Error("a message that no coordinator sends to a server");
    }
  }

  int desk_of(std::uint32_t node) {
    if (node >= kept_->sessions.size()) throw Error("there is no such node");
    kept_->sessions[node].see();
    return static_cast<int>(node);
  }

  void apply_pushes(const wire::ApplyPushes& told) {
    ApplyPushes decision;
    for (const std::uint32_t node : told.nodes()) decision.workers.push_back(desk_of(node));
    decision.share = told.share();
    decision.damping = told.damping();
    decision.momentum = told.momentum();
    kept_->shard.store.apply_pushes(decision);
  }

  void send_shard(bool model) {
    ServedShard& shard = kept_->shard;
    const FloatBuffer none(model ? 0 : shard.pull_format.shard().size());
    const FloatBuffer& momentum = shard.store.momentum().size() > 0 ? shard.store.momentum() : none;
    const FloatBuffer& values = model ? std::as_const(shard.store).model() : momentum;
    wire::Head head;
    set_header(shard.pull_format.write({}, true, values.span(), payload_.next()),
               *head.mutable_fetched()->mutable_payload());
    channel_->send(message_of(head));
    for (auto& chunk : payload_.chunks(0)) channel_->send(std::move(chunk));
  }

  const ShardServerOptions& options_;
  ShardHost& host_;
  ChannelEvents events_;
  std::shared_ptr<Channel> channel_;
  std::optional<HeartbeatThread> heartbeat_;
  Stopwatch heard_;
  Seconds evict_ = kAnswer;
  std::shared_ptr<HostedShard> kept_;
  FloatBuffer loaded_;
  bool loads_model_ = true;
  std::optional<PayloadReader> reader_;  // of what is loaded
  PayloadBuffer payload_;
  SessionEnd end_ = SessionEnd::over;  // as the leave or the refusal says
  std::string put_off_;                // why there is no slot for it now
};

}  // namespace

int run_shard_server(const ShardServerOptions& options) {
  ShardHost host;
  const auto listener =
      options.transport->listen(options.listen, [&](std::shared_ptr<Channel> channel) {
        return std::make_shared<WorkerConnection>(options, host, std::move(channel));
      });
  const std::string address = options.address.empty() ? listener->address() : options.address;
  return run_until_over({options.coordinator, options.patience, options.interrupted, options.say},
                        [&](std::string& why, bool& useful) {
                          CoordinatorConnection service(options, address, host);
                          const SessionEnd end = service.run(why);
                          useful = service.useful();
                          return end;
                        });
}

}  // namespace evener
