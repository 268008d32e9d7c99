#include "evener/cluster/parameter_server/shard_server.h"

#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "evener/cluster/membership/heartbeat_thread.h"
#include "evener/cluster/membership/reconnect.h"
#include "evener/cluster/membership/worker_key.h"
#include "evener/cluster/parameter_server/shard_host.h"
#include "evener/cluster/transport/inbox.h"

namespace evener {

namespace {

/// The shard that is hosted now, and the channel on which pushes are reported. Both are empty while
/// no coordinator is connected.
class HostedShard {
 public:
  /// For this worker. Error without a shard, or if the coordinator has not given it its slot.
  std::shared_ptr<ShardHost> host_for(const wire::WorkerHello& hello) const {
    const std::lock_guard lock(mutex_);
    if (!host_) throw Error("there is no shard here yet: try again");
    if (!same_key(hello.key(), worker_key(secret_, hello.node(), hello.generation()))) {
      throw Error("it does not have the key of this slot");
    }
    return host_;
  }
  void set(std::shared_ptr<ShardHost> host, std::string secret,
           std::shared_ptr<Channel> coordinator) {
    const std::lock_guard lock(mutex_);
    host_ = std::move(host);
    secret_ = std::move(secret);
    coordinator_ = std::move(coordinator);
  }
  /// A report about a shard that is no longer hosted is dropped.
  void report(const ShardHost& from, const wire::Pushed& pushed) {
    const std::lock_guard lock(mutex_);
    if (host_.get() != &from || !coordinator_) return;
    wire::Head head;
    *head.mutable_pushed() = pushed;
    coordinator_->send(message_of(head));
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<ShardHost> host_;
  std::string secret_;  // of the coordinator: worker_key.h
  std::shared_ptr<Channel> coordinator_;
};

/// The connection of a worker. It may outlive the connection to the coordinator.
class WorkerConnection final : public Handler {
 public:
  WorkerConnection(const ShardServerOptions& options, HostedShard& hosted,
                   std::shared_ptr<Channel> channel)
      : options_(options), hosted_(hosted), channel_(std::move(channel)) {}

  void received(Message message) override {
    const wire::Head head = head_of(message);
    if (is_hello(head) && std::exchange(said_hello_, true)) throw Error("it sent a second hello");
    if (head.has_worker_hello()) return connect(head.worker_hello());
    if (head.has_status_request() || head.has_hello() || head.has_server_hello()) {
      wire::Head answer;
      answer.mutable_refusal()->set_why("this is a server: give the address of its coordinator");
      return channel_->send(message_of(answer));
    }
    if (session_ == nullptr) throw Error("it has not said which worker it is");
    std::optional<wire::Pushed> pushed;
    if (head.has_push()) pushed = session_->begin_push(head.push());
    if (head.has_chunk()) pushed = session_->feed(head.chunk(), message);
    if (pushed) hosted_.report(*host_, *pushed);
  }
  void ended(const std::string& /*why*/) override {
    if (session_ != nullptr) session_->disconnect(channel_);
    session_ = nullptr;
    host_.reset();
  }

 private:
  void connect(const wire::WorkerHello& hello) {
    if (hello.protocol() != kProtocol) throw Error("it has another version of the protocol");
    if (hello.token() != options_.token) throw Error("it does not know the token");
    const auto host = hosted_.host_for(hello);
    host->session(hello.node()).connect(channel_, hello.generation());
    host_ = host;
    session_ = &host_->session(hello.node());
    channel_->admit();
  }

  const ShardServerOptions& options_;
  HostedShard& hosted_;
  std::shared_ptr<Channel> channel_;
  std::shared_ptr<ShardHost> host_;
  WorkerSession* session_ = nullptr;
  bool said_hello_ = false;
};

/// One connection to the coordinator, from hello to its end.
class CoordinatorConnection {
 public:
  CoordinatorConnection(const ShardServerOptions& options, const std::string& address,
                        HostedShard& hosted)
      : options_(options),
        hosted_(hosted),
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
    hosted_.set(nullptr, "", nullptr);
    if (host_) host_->close("the coordinator has left");
    heartbeat_.reset();
    channel_->close("the server leaves");
  }
  CoordinatorConnection(const CoordinatorConnection&) = delete;
  CoordinatorConnection& operator=(const CoordinatorConnection&) = delete;

  /// `why`: of a connection that was lost.
  SessionEnd run(std::string& why) {
    for (;;) {
      const auto event = events_.get_within(kLook);
      if (options_.interrupted && options_.interrupted() != 0) return SessionEnd::signal;
      if (!event) {
        if (heard_.elapsed() < evict_) continue;
        why = fmt::format("no heartbeat for {:.0f} s", heard_.elapsed());
        return SessionEnd::lost;
      }
      if (const std::string* end = event->end()) {
        why = *end;
        return SessionEnd::lost;
      }
      heard_ = {};
      heartbeat_->advance();
      if (!take(event->message())) {
        why = put_off_;
        return end_;
      }
    }
  }
  bool useful() const { return host_ != nullptr; }

 private:
  static constexpr Seconds kBeat = 1;

  /// Returns false if the run is over, or needs no other server now.
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
        if (!host_) throw Error("a message of the coordinator that needs a shard");
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
    if (host_) host_->close("the coordinator starts again");
    host_ = std::make_shared<ShardHost>(shard, keep.slots(), pushes, options_.threads);
    hosted_.set(host_, keep.secret(), channel_);
    wire::Head head;
    head.mutable_kept();
    channel_->send(message_of(head));
    options_.say(fmt::format("keeps {:.1f} MB of the model",
                             static_cast<double>(shard.size() * sizeof(float)) / 1e6));
  }

  void work(const wire::Head& head, const Message& message) {
    switch (head.kind_case()) {
      case wire::Head::kLoad:
        loaded_ = FloatBuffer(host_->format().layout().size());
        loads_model_ = head.load().vector() == 0;
        reader_.emplace(host_->format(), header_of(head.load().update()), loaded_.span());
        return;
      case wire::Head::kChunk:
        if (!reader_) return;
        reader_->feed(head.chunk().offset(), message);
        if (!reader_->complete()) return;
        reader_.reset();
        if (!loads_model_) return host_->store().set_momentum(std::move(loaded_));
        host_->store().renew_all();
        host_->store().model() = std::move(loaded_);
        return;
      case wire::Head::kFetch:
        return send_shard(head.fetch().vector() == 0);
      case wire::Head::kApplyPushes:
        return host_->apply_pushes(decision_of(head.apply_pushes()));
      case wire::Head::kReject:
        return host_->reject(static_cast<int>(head.reject().node()));
      case wire::Head::kForget:
        return host_->forget(static_cast<int>(head.forget().node()));
      case wire::Head::kGrant: {
        wire::Order order;
        order.set_sequence(head.grant().sequence());
        return host_->session(head.grant().node())
            .grant(std::move(order), head.grant().generation());
      }
      default:
        throw Error("a message that a shard server does not take");
    }
  }

  static ApplyPushes decision_of(const wire::ApplyPushes& message) {
    ApplyPushes decision;
    for (const std::uint32_t worker : message.nodes()) {
      decision.workers.push_back(static_cast<int>(worker));
    }
    decision.share = message.share();
    decision.damping = message.damping();
    decision.momentum = message.momentum();
    return decision;
  }

  void send_shard(bool model) {
    const ParameterStore& store = host_->store();
    const FloatBuffer none(model ? 0 : host_->format().layout().size());
    const FloatBuffer& momentum = store.momentum().size() > 0 ? store.momentum() : none;
    const FloatBuffer& values = model ? store.model() : momentum;
    wire::Head head;
    set_header(host_->format().write({}, true, values.span(), payload_.next()),
               *head.mutable_fetched()->mutable_update());
    channel_->send(message_of(head));
    for (auto& chunk : payload_.chunks(0)) channel_->send(std::move(chunk));
  }

  const ShardServerOptions& options_;
  HostedShard& hosted_;
  ChannelEvents events_;
  std::shared_ptr<Channel> channel_;
  std::optional<HeartbeatThread> heartbeat_;
  Stopwatch heard_;
  Seconds evict_ = kAnswer;
  std::shared_ptr<ShardHost> host_;  // null: the coordinator has not assigned a shard yet
  FloatBuffer loaded_;
  bool loads_model_ = true;
  std::optional<ModelUpdateReader> reader_;  // of what is loaded
  PayloadBuffer payload_;
  SessionEnd end_ = SessionEnd::over;  // from the last message
  std::string put_off_;                // why the run needs no server now
};

}  // namespace

int run_shard_server(const ShardServerOptions& given) {
  const ShardServerOptions options = with_transport(given);
  HostedShard hosted;
  const auto listener =
      options.transport->listen(options.listen, [&](std::shared_ptr<Channel> channel) {
        return std::make_shared<WorkerConnection>(options, hosted, std::move(channel));
      });
  const std::string address = options.address.empty() ? listener->address() : options.address;
  return run_until_over({options.coordinator, options.patience, options.interrupted, options.say},
                        [&](std::string& why, bool& useful) {
                          CoordinatorConnection connection(options, address, hosted);
                          const SessionEnd end = connection.run(why);
                          useful = connection.useful();
                          return end;
                        });
}

}  // namespace evener
