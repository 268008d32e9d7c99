// Connections between ranks. All connections between two ranks share one stream of packets.
#include <charconv>
#include <map>
#include <new>
#include <optional>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "evener/cluster/transport/endpoint.h"
#include "evener/cluster/transport/mpi/plugin/ranks.h"
#include "evener/core/error.h"

namespace evener::mpi {

namespace {

constexpr std::size_t kMostTasks = 256;  // queued in the executor before receiving pauses

/// Identifies a connection: the other rank, and the number that the opening rank assigned.
struct Name {
  int other = 0;
  std::uint32_t number = 0;
  bool opened_here = false;

  bool operator<(const Name& with) const {
    return std::tie(other, number, opened_here) <
           std::tie(with.other, with.number, with.opened_here);
  }
};

class PacketQueue;

class RankEndpoint final : public Endpoint {
 public:
  RankEndpoint(PacketQueue& queue, const Name& name);

 protected:
  void transmit(Message message) override;
  void transmit_end(const std::string& why) override;

 private:
  PacketQueue& queue_;
  Name name_;
};

/// What listeners and channels share.
class PacketQueue {
 public:
  explicit PacketQueue(const WorldOptions& options)
      : ranks_(options, {[this](int from, Packet packet) { take(from, std::move(packet)); },
                         [this](int rank, const std::string& why) { end_all(rank, why); },
                         [this] { return executor_.waiting() > kMostTasks; }}) {}

  Ranks& ranks() { return ranks_; }
  SerialExecutor& executor() { return executor_; }

  std::shared_ptr<Endpoint> connect(const std::string& address, std::shared_ptr<Handler> handler) {
    const auto to = rank_of(address);
    const std::lock_guard lock(mutex_);
    const Name name{to.value_or(-1), ++begun_, true};
    auto endpoint = std::make_shared<RankEndpoint>(*this, name);
    endpoint->begin(std::move(handler));
    if (!to || lost_.count(*to) > 0) {
      endpoint->receive_end(
          to ? "cannot connect: " + lost_[*to]
             : fmt::format("cannot connect: there is no rank '{}' of {}", address, ranks_.size()));
      return endpoint;
    }
    endpoints_[name] = endpoint;
    send(name, Packet::Kind::open, {});
    return endpoint;
  }
  void listen(AcceptedConnections& accepted) {
    const std::lock_guard lock(mutex_);
    if (accepted_ != nullptr) {
      throw Error(fmt::format("{}: cannot listen there: the address is taken", ranks_.rank()));
    }
    accepted_ = &accepted;
  }
  void listen_no_more() {
    const std::lock_guard lock(mutex_);
    accepted_ = nullptr;
  }
  std::optional<int> rank_of(std::string_view address) const {
    int rank = -1;
    const char* end = address.data() + address.size();
    const auto [stop, problem] = std::from_chars(address.data(), end, rank);
    if (problem != std::errc{} || stop != end || rank < 0 || rank >= ranks_.size()) return {};
    return rank;
  }
  bool has_lost(int rank) {
    const std::lock_guard lock(mutex_);
    return lost_.count(rank) > 0;
  }
  void send(const Name& name, Packet::Kind kind, Message message) {
    ranks_.send(name.other, {kind, name.number, !name.opened_here, std::move(message)});
  }
  void forget(const Name& name) {
    const std::lock_guard lock(mutex_);
    endpoints_.erase(name);
  }

 private:
  void take(int from, Packet packet) {
    const Name name{from, packet.connection, packet.to_opener};
    const std::lock_guard lock(mutex_);
    if (packet.kind == Packet::Kind::open) return open(name);
    const auto found = endpoints_.find(name);
    if (found == endpoints_.end()) return;  // it has ended here
    if (packet.kind == Packet::Kind::message) {
      return found->second->receive(std::move(packet.message));
    }
    found->second->receive_end(packet.message.head);
    endpoints_.erase(found);
  }
  void open(const Name& name) {
    if (accepted_ == nullptr) {
      return send(name, Packet::Kind::end,
                  {fmt::format("cannot connect: rank {} does not listen", ranks_.rank()), {}, {}});
    }
    const auto endpoint = std::make_shared<RankEndpoint>(*this, name);
    endpoints_[name] = endpoint;
    accepted_->admit(endpoint);
  }
  void end_all(int rank, const std::string& why) {
    const std::lock_guard lock(mutex_);
    lost_[rank] = why;
    for (auto at = endpoints_.begin(); at != endpoints_.end();) {
      const auto here = at++;
      if (here->first.other != rank) continue;
      here->second->receive_end(why);
      endpoints_.erase(here);
    }
  }

  std::mutex mutex_;
  std::map<Name, std::shared_ptr<RankEndpoint>> endpoints_;
  std::map<int, std::string> lost_;  // ranks, and why
  std::uint32_t begun_ = 0;
  AcceptedConnections* accepted_ = nullptr;
  SerialExecutor executor_;
  Ranks ranks_;  // last: its thread uses all of the above
};

RankEndpoint::RankEndpoint(PacketQueue& queue, const Name& name)
    : Endpoint(queue.executor()), queue_(queue), name_(name) {}
void RankEndpoint::transmit(Message message) {
  queue_.send(name_, Packet::Kind::message, std::move(message));
}
void RankEndpoint::transmit_end(const std::string& why) {
  queue_.send(name_, Packet::Kind::end,
              {"the other side has closed the connection: " + why, {}, {}});
  queue_.forget(name_);
}

class RankListener final : public Listener {
 public:
  RankListener(std::shared_ptr<PacketQueue> queue, Accept accept)
      : queue_(std::move(queue)), accepted_(queue_->executor(), std::move(accept)) {
    queue_->listen(accepted_);
  }
  ~RankListener() override {
    queue_->listen_no_more();
    accepted_.end_all("the listener was closed");
  }
  RankListener(const RankListener&) = delete;
  RankListener& operator=(const RankListener&) = delete;
  std::string address() const override { return std::to_string(queue_->ranks().rank()); }

 private:
  std::shared_ptr<PacketQueue> queue_;
  AcceptedConnections accepted_;
};

class PluginWorld final : public World {
 public:
  explicit PluginWorld(const WorldOptions& options)
      : queue_(std::make_shared<PacketQueue>(options)) {}
  ~PluginWorld() override {
    // A stuck thread may resume later and use this object, so it is kept until the process ends.
    if (queue_->ranks().stuck()) new (std::nothrow) std::shared_ptr<PacketQueue>(queue_);
  }
  PluginWorld(const PluginWorld&) = delete;
  PluginWorld& operator=(const PluginWorld&) = delete;

  int rank() const override { return queue_->ranks().rank(); }
  int size() const override { return queue_->ranks().size(); }
  int neighbours() const override { return queue_->ranks().neighbours(); }
  std::string library() const override { return queue_->ranks().library(); }
  std::string lost() const override { return queue_->ranks().lost(); }
  bool has_lost(int other) const override { return queue_->has_lost(other); }
  void leave() override { queue_->ranks().leave(); }
  bool fail(const std::string& why) override { return queue_->ranks().fail(why); }

  std::unique_ptr<Listener> listen(const std::string& address, Accept accept) override {
    if (!address.empty() && queue_->rank_of(address) != rank()) {
      throw Error(fmt::format("{}: cannot listen there: this is rank {}", address, rank()));
    }
    return std::make_unique<RankListener>(queue_, std::move(accept));
  }
  std::shared_ptr<Channel> connect(const std::string& address,
                                   std::shared_ptr<Handler> handler) override {
    return owned_channel(queue_->connect(address, std::move(handler)), queue_);
  }

 private:
  std::shared_ptr<PacketQueue> queue_;
};

}  // namespace

}  // namespace evener::mpi

extern "C" __attribute__((visibility("default"))) evener::mpi::World* evener_mpi_plugin(
    const char* version, const evener::mpi::WorldOptions& options) {
  if (std::string_view(version) != evener::mpi::kPluginVersion) return nullptr;
  return new evener::mpi::PluginWorld(options);
}
