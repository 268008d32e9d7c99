// Connections over gRPC's callback interface: one stream each, one write at a time.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <future>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <grpc/support/log.h>
#include <grpcpp/alarm.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include "evener/cluster/transport/grpc/grpc_frame.h"
#include "evener/cluster/transport/grpc/grpc_reason.h"
#include "evener/cluster/transport/grpc/tcp_acceptor.h"
#include "evener/cluster/transport/transport.h"
#include "evener/core/error.h"

namespace evener {

namespace {

constexpr const char* kMethod = "/evener.Cluster/Connect";
constexpr int kFrameBytes = 4 << 20;  // of HTTP/2; the default of 16 KB costs most of the speed
constexpr int kReadBytes = 256 << 10;
constexpr int kMostStreams = 2;              // of a connection; a client uses one
constexpr int kConnectMilliseconds = 8'000;  // with TLS; less than callers wait for an answer
constexpr int kUnsentMilliseconds = 20'000;
constexpr double kSilent = 0.3;  // share of dead_after until a ping

struct GrpcOptions {
  Tls tls;
  double dead_after = 0;  // seconds
  double admission = 0;   // seconds
};

int milliseconds_of(double seconds) {
  return static_cast<int>(std::min(1000 * seconds, 1e9));
}

/// Sets the library's options on both sides: set(name, value). docs/results.md has the
/// measurements.
template <class F>
void for_settings(const GrpcOptions& options, F set) {
  set(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kFrameBytes);
  set(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kFrameBytes);
  set(GRPC_ARG_TCP_READ_CHUNK_SIZE, kReadBytes);
  // gRPC sends pings to estimate the window, and they delay the data. Under TLS, encryption is
  // slower than that anyway, and the pings help a little.
  if (!options.tls.on()) set(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  if (options.dead_after == 0) return;
  // A ping after some silence; the connection ends without an answer. The other side has to allow
  // pings.
  const int after = milliseconds_of(options.dead_after);
  const auto silent = static_cast<int>(kSilent * after);
  set(GRPC_ARG_KEEPALIVE_TIME_MS, silent);
  set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, after - silent);
  set(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  set(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, silent / 2);
}

/// The calls of a channel to its stream, all with the channel's lock held.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void write(const grpc::ByteBuffer* frame) = 0;
  virtual void stop(const std::string& why) = 0;
};

class GrpcChannel final : public Channel {
 public:
  void send(Message message) override {
    const std::lock_guard lock(mutex_);
    if (stream_ == nullptr) return;
    waiting_.push_back(std::move(message));
    if (!writing_) write_next();
  }
  void close(const std::string& why) override {
    const std::lock_guard lock(mutex_);
    if (stream_ != nullptr) stream_->stop(why);
  }

  void admit() override { admitted_ = true; }

  // For the stream.
  bool admitted() const { return admitted_; }
  void attach(Stream* stream) {
    const std::lock_guard lock(mutex_);
    stream_ = stream;
  }
  void detach() {
    const std::lock_guard lock(mutex_);
    stream_ = nullptr;
    waiting_.clear();
  }
  void written(bool ok) {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    frame_.Clear();
    if (ok && stream_ != nullptr && !waiting_.empty()) write_next();
  }

 private:
  void write_next() {
    frame_ = to_frame(waiting_.front());
    waiting_.pop_front();
    writing_ = true;
    stream_->write(&frame_);
  }

  std::mutex mutex_;
  Stream* stream_ = nullptr;  // null: ended
  std::deque<Message> waiting_;
  grpc::ByteBuffer frame_;  // that is being written
  bool writing_ = false;
  std::atomic<bool> admitted_ = false;
};

/// Handles incoming messages on both sides of a stream.
class Reader {
 public:
  /// `channel` outlives it.
  Reader(GrpcChannel& channel, std::shared_ptr<Handler> handler)
      : channel_(channel), handler_(std::move(handler)) {}

  /// False: the connection has to end, and `channel` has been notified.
  bool take(const grpc::ByteBuffer& frame) {
    try {
      auto message = from_frame(frame);
      if (!message) throw Error("a malformed message");
      handler_->received(std::move(*message));
      return true;
    } catch (const std::exception& problem) {
      channel_.close(problem.what());
      return false;
    }
  }
  void end(const std::string& why) {
    channel_.detach();
    handler_->ended(why);
  }
  GrpcChannel& channel() { return channel_; }

 private:
  GrpcChannel& channel_;
  std::shared_ptr<Handler> handler_;
};

class ServerStream final : public grpc::ServerGenericBidiReactor, public Stream {
 public:
  /// `limit`: seconds until the channel has to be admitted.
  ServerStream(grpc::CallbackServerContext* context, const Accept& accept, double limit)
      : context_(context),
        channel_(std::make_shared<GrpcChannel>()),
        reader_(*channel_, accept(channel_)) {
    reader_.channel().attach(this);
    // The alarm may go off after the end of this object.
    const auto deadline =
        std::chrono::system_clock::now() + std::chrono::milliseconds(milliseconds_of(limit));
    admission_.Set(deadline, [channel = channel_](bool expired) {
      if (expired && !channel->admitted()) channel->close("it was not accepted in time");
    });
    StartRead(&in_);
  }

  void OnReadDone(bool ok) override {
    if (ok && reader_.take(in_)) return StartRead(&in_);
    finish(grpc::Status::OK, ok ? "" : "the other side has closed the connection");
  }
  void OnWriteDone(bool ok) override { reader_.channel().written(ok); }
  void OnCancel() override { finish(grpc::Status::CANCELLED, "the connection was cut"); }
  void OnDone() override {
    reader_.end(why_);
    delete this;
  }

  void write(const grpc::ByteBuffer* frame) override { StartWrite(frame); }
  /// Cancels the stream: a side that does not read would not receive a regular end.
  void stop(const std::string& why) override {
    {
      const std::lock_guard lock(mutex_);
      if (why_.empty()) why_ = why;
    }
    context_->TryCancel();
  }

 private:
  void finish(const grpc::Status& status, const std::string& why) {
    channel_->detach();  // nothing may be written once Finish was called
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    finished_ = true;
    if (why_.empty()) why_ = why;
    Finish(status);
  }

  grpc::CallbackServerContext* context_;
  std::string why_;
  std::mutex mutex_;
  bool finished_ = false;
  std::shared_ptr<GrpcChannel> channel_;
  Reader reader_;
  grpc::ByteBuffer in_;
  grpc::Alarm admission_;
};

class Service final : public grpc::CallbackGenericService {
 public:
  Service(Accept accept, double admission) : accept_(std::move(accept)), admission_(admission) {}
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    if (context->method() != kMethod) {
      return grpc::CallbackGenericService::CreateReactor(context);
    }
    return new ServerStream(context, accept_, admission_);  // deletes itself when done
  }

 private:
  Accept accept_;
  double admission_;
};

class GrpcListener final : public Listener {
 public:
  GrpcListener(const std::string& address, const GrpcOptions& options, Accept accept)
      : service_(std::move(accept), options.admission),
        host_(address.substr(0, address.rfind(':'))),
        acceptor_(std::in_place, address, unsent_limit(options)) {
    using External = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
    grpc::ServerBuilder builder;
    connections_ = builder.experimental().AddExternalConnectionAcceptor(External::FROM_FD,
                                                                        credentials(options.tls));
    builder.RegisterCallbackGenericService(&service_);
    builder.SetMaxReceiveMessageSize(static_cast<int>(kMostMessageBytes));
    // Until TLS and the first frames of HTTP/2 are complete, then until there is a stream.
    const int limit = milliseconds_of(options.admission);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, limit);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, limit);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMostStreams);
    for_settings(options,
                 [&](const char* name, int value) { builder.AddChannelArgument(name, value); });
    server_ = builder.BuildAndStart();
    if (!server_) throw Error(fmt::format("{}: gRPC cannot start a server", address));
    acceptor_->start([this](int listening, int connection) {
      grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters accepted;
      accepted.listener_fd = listening;
      accepted.fd = connection;
      connections_->HandleNewConnection(&accepted);
    });
  }
  ~GrpcListener() override {
    acceptor_.reset();
    server_->Shutdown(std::chrono::system_clock::now());
  }
  std::string address() const override { return fmt::format("{}:{}", host_, acceptor_->port()); }

 private:
  static int unsent_limit(const GrpcOptions& options) {
    return options.dead_after == 0 ? kUnsentMilliseconds
                                   : milliseconds_of((1 - kSilent) * options.dead_after);
  }
  static std::shared_ptr<grpc::ServerCredentials> credentials(const Tls& tls) {
    if (!tls.on()) return grpc::InsecureServerCredentials();
    grpc::SslServerCredentialsOptions options(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = tls.authority;
    options.pem_key_cert_pairs.push_back({tls.key, tls.certificate});
    return grpc::SslServerCredentials(options);
  }

  Service service_;
  std::string host_;
  std::optional<TcpAcceptor> acceptor_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> connections_;
  std::unique_ptr<grpc::Server> server_;
};

class ClientStream final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                           public Stream {
 public:
  ClientStream(const std::string& address, const GrpcOptions& options, GrpcChannel& channel,
               std::shared_ptr<Handler> handler)
      : stub_(make_channel(address, options)), reader_(channel, std::move(handler)) {
    stub_.PrepareBidiStreamingCall(&context_, kMethod, {}, this);
    AddHold();  // writes are started outside of reactions
    reader_.channel().attach(this);
    StartRead(&in_);
    StartCall();
  }
  /// Waits for the end of the connection.
  ~ClientStream() override { done_->get_future().wait(); }

  void OnReadDone(bool ok) override {
    if (ok && reader_.take(in_)) return StartRead(&in_);
    reader_.channel().detach();
    RemoveHold();
  }
  void OnWriteDone(bool ok) override { reader_.channel().written(ok); }
  void OnDone(const grpc::Status& status) override {
    const auto done = done_;  // outlives this object, which is destroyed once the value is set
    reader_.end(!why_.empty() ? why_
                : status.ok() ? "the other side has closed the connection"
                              : reason_of(status));
    done->set_value();
  }

  void write(const grpc::ByteBuffer* frame) override { StartWrite(frame); }
  void stop(const std::string& why) override {
    if (why_.empty()) why_ = why;
    context_.TryCancel();
  }

 private:
  static std::shared_ptr<grpc::Channel> make_channel(const std::string& address,
                                                     const GrpcOptions& options) {
    const Tls& tls = options.tls;
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // one TCP connection per channel
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectMilliseconds);
    for_settings(options, [&](const char* name, int value) { arguments.SetInt(name, value); });
    arguments.SetMaxReceiveMessageSize(static_cast<int>(kMostMessageBytes));
    auto credentials = grpc::InsecureChannelCredentials();
    if (tls.on()) credentials = grpc::SslCredentials({tls.authority, tls.key, tls.certificate});
    return grpc::CreateCustomChannel(address, credentials, arguments);
  }

  grpc::ClientContext context_;
  grpc::GenericStub stub_;
  std::string why_;
  Reader reader_;
  grpc::ByteBuffer in_;
  std::shared_ptr<std::promise<void>> done_ = std::make_shared<std::promise<void>>();
};

/// Destroys its stream on its owner's thread. gRPC shuts down with its last object; if one of its
/// own threads did that while the process ends, the process would crash.
class ClientChannel final : public Channel {
 public:
  ClientChannel(const std::string& address, const GrpcOptions& options,
                std::shared_ptr<Handler> handler)
      : stream_(address, options, channel_, std::move(handler)) {}
  ~ClientChannel() override { channel_.close("the channel was closed"); }

  void send(Message message) override { channel_.send(std::move(message)); }
  void close(const std::string& why) override { channel_.close(why); }

 private:
  GrpcChannel channel_;
  ClientStream stream_;
};

/// gRPC writes its own lines to standard error; what matters reaches the user through `ended`.
void silence_grpc() {
  gpr_set_log_function([](gpr_log_func_args*) {});
}

class GrpcTransport final : public Transport {
 public:
  explicit GrpcTransport(GrpcOptions options) : options_(std::move(options)) { silence_grpc(); }
  std::unique_ptr<Listener> listen(const std::string& address, Accept accept) override {
    return std::make_unique<GrpcListener>(address, options_, std::move(accept));
  }
  std::shared_ptr<Channel> connect(const std::string& address,
                                   std::shared_ptr<Handler> handler) override {
    return std::make_shared<ClientChannel>(address, options_, std::move(handler));
  }

 private:
  GrpcOptions options_;
};

}  // namespace

std::shared_ptr<Transport> make_grpc_transport(const Tls& tls, double dead_after,
                                               double admission) {
  return std::make_shared<GrpcTransport>(GrpcOptions{tls, dead_after, admission});
}

}  // namespace evener
