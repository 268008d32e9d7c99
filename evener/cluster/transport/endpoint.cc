#include "evener/cluster/transport/endpoint.h"

#include <exception>
#include <vector>

#include <fmt/format.h>

namespace evener {

void Endpoint::send(Message message) {
  if (const std::size_t size = message.size(); size > kMostMessageBytes) {
    return close(fmt::format("a message of {} bytes is larger than {}", size, kMostMessageBytes));
  }
  const std::lock_guard lock(mutex_);
  if (open_) transmit(std::move(message));
}

void Endpoint::close(const std::string& why) {
  if (!end(why, true)) return;
  executor_.put([self = shared_from_this(), why] { self->finish(why); });
}

void Endpoint::begin(std::shared_ptr<Handler> handler) {
  executor_.put(
      [self = shared_from_this(), handler = std::move(handler)] { self->handler_ = handler; });
}

void Endpoint::begin(const Accept& accept) {
  executor_.put([self = shared_from_this(), accept] {
    try {
      self->handler_ = accept(self);
    } catch (const std::exception& problem) {
      self->close(problem.what());
    }
  });
}

void Endpoint::receive(Message message) {
  executor_.put([self = shared_from_this(), message = std::move(message)]() mutable {
    self->deliver(std::move(message));
  });
}

void Endpoint::receive_end(const std::string& why) {
  executor_.put([self = shared_from_this(), why] {
    if (self->end(why, false)) self->finish(why);
  });
}

void Endpoint::await_end() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return over_; });
}

bool Endpoint::end(const std::string& why, bool notify_other) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(open_, false)) return false;
  if (notify_other) transmit_end(why);
  return true;
}

void Endpoint::deliver(Message message) {
  {
    const std::lock_guard lock(mutex_);
    if (!open_) return;
  }
  try {
    handler_->received(std::move(message));
  } catch (const std::exception& problem) {
    close(problem.what());
  }
}

void Endpoint::finish(const std::string& why) {
  // The handler may own this endpoint's channel, and the endpoint owns the handler until here.
  if (const auto handler = std::exchange(handler_, nullptr)) handler->ended(why);
  const std::lock_guard lock(mutex_);
  over_ = true;
  ended_.notify_all();
}

namespace {

class OwnedChannel final : public Channel {
 public:
  OwnedChannel(std::shared_ptr<Endpoint> endpoint, std::shared_ptr<void> owner)
      : owner_(std::move(owner)), endpoint_(std::move(endpoint)) {}
  ~OwnedChannel() override {
    endpoint_->close("the channel was closed");
    endpoint_->await_end();
  }
  void send(Message message) override { endpoint_->send(std::move(message)); }
  void close(const std::string& why) override { endpoint_->close(why); }

 private:
  std::shared_ptr<void> owner_;
  std::shared_ptr<Endpoint> endpoint_;
};

}  // namespace

std::shared_ptr<Channel> owned_channel(std::shared_ptr<Endpoint> endpoint,
                                       std::shared_ptr<void> owner) {
  return std::make_shared<OwnedChannel>(std::move(endpoint), std::move(owner));
}

void AcceptedConnections::admit(const std::shared_ptr<Endpoint>& endpoint) {
  const std::lock_guard lock(mutex_);
  endpoints_.remove_if([](const auto& other) { return other.expired(); });
  endpoints_.push_back(endpoint);
  endpoint->begin(accept_);
}

void AcceptedConnections::end_all(const std::string& why) {
  std::vector<std::shared_ptr<Endpoint>> open;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& endpoint : endpoints_) {
      if (auto still = endpoint.lock()) open.push_back(std::move(still));
    }
  }
  for (const auto& endpoint : open) endpoint->close(why);
  executor_.flush();
}

}  // namespace evener
