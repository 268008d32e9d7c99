// Connections between threads of one process.
#include <map>

#include <fmt/format.h>

#include "evener/cluster/transport/endpoint.h"
#include "evener/core/error.h"

namespace evener {

namespace {

class LocalEndpoint final : public Endpoint {
 public:
  using Endpoint::Endpoint;
  void connect_to(std::shared_ptr<LocalEndpoint> other) { other_ = std::move(other); }

 protected:
  void transmit(Message message) override {
    if (other_) other_->receive(std::move(message));
  }
  void transmit_end(const std::string& why) override {
    if (other_) other_->receive_end("the other side has closed the connection: " + why);
    other_.reset();  // the two endpoints own each other until here
  }

 private:
  std::shared_ptr<LocalEndpoint> other_;
};

/// What listeners and channels share.
struct LocalNetwork {
  std::mutex mutex;
  std::map<std::string, AcceptedConnections*> listeners;
  int names = 0;
  SerialExecutor executor;
};

class LocalListener final : public Listener {
 public:
  LocalListener(std::shared_ptr<LocalNetwork> network, const std::string& address, Accept accept)
      : network_(std::move(network)),
        address_(address),
        accepted_(network_->executor, std::move(accept)) {
    const std::lock_guard lock(network_->mutex);
    while (address_.empty() || (address.empty() && network_->listeners.count(address_) > 0)) {
      address_ = fmt::format("local {}", network_->names++);
    }
    if (!network_->listeners.emplace(address_, &accepted_).second) {
      throw Error(fmt::format("{}: cannot listen there: the address is taken", address_));
    }
  }
  ~LocalListener() override {
    {
      const std::lock_guard lock(network_->mutex);
      network_->listeners.erase(address_);
    }
    accepted_.end_all("the listener was closed");
  }
  LocalListener(const LocalListener&) = delete;
  LocalListener& operator=(const LocalListener&) = delete;
  std::string address() const override { return address_; }

 private:
  std::shared_ptr<LocalNetwork> network_;
  std::string address_;
  AcceptedConnections accepted_;
};

class LocalTransport final : public Transport {
 public:
  std::unique_ptr<Listener> listen(const std::string& address, Accept accept) override {
    return std::make_unique<LocalListener>(network_, address, std::move(accept));
  }
  std::shared_ptr<Channel> connect(const std::string& address,
                                   std::shared_ptr<Handler> handler) override {
    auto local = std::make_shared<LocalEndpoint>(network_->executor);
    local->begin(std::move(handler));
    const std::lock_guard lock(network_->mutex);
    const auto found = network_->listeners.find(address);
    if (found == network_->listeners.end()) {
      local->receive_end(fmt::format("cannot connect: nothing listens at '{}'", address));
    } else {
      auto remote = std::make_shared<LocalEndpoint>(network_->executor);
      local->connect_to(remote);
      remote->connect_to(local);
      found->second->admit(remote);
    }
    return owned_channel(std::move(local), network_);
  }

 private:
  std::shared_ptr<LocalNetwork> network_ = std::make_shared<LocalNetwork>();
};

}  // namespace

std::shared_ptr<Transport> make_local_transport() {
  return std::make_shared<LocalTransport>();
}

}  // namespace evener
