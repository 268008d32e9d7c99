#include "evener/cluster/side.h"

#include <exception>
#include <vector>

#include <fmt/format.h>

namespace evener {

void Side::send(Message message) {
  if (const std::size_t size = message.size(); size > kMostMessageBytes) {
    return close(fmt::format("a message of {} bytes is larger than {}", size, kMostMessageBytes));
  }
  const std::lock_guard lock(mutex_);
  if (open_) carry(std::move(message));
}

void Side::close(const std::string& why) {
  if (!end_it(why, true)) return;
  courier_.put([self = shared_from_this(), why] { self->finish(why); });
}

void Side::begin(std::shared_ptr<Handler> handler) {
  courier_.put(
      [self = shared_from_this(), handler = std::move(handler)] { self->handler_ = handler; });
}

void Side::begin(const Accept& accept) {
  courier_.put([self = shared_from_this(), accept] {
    try {
      self->handler_ = accept(self);
    } catch (const std::exception& problem) {
      self->close(problem.what());
    }
  });
}

void Side::bring(Message message) {
  courier_.put([self = shared_from_this(), message = std::move(message)]() mutable {
    self->deliver(std::move(message));
  });
}

void Side::bring_end(const std::string& why) {
  courier_.put([self = shared_from_this(), why] {
    if (self->end_it(why, false)) self->finish(why);
  });
}

void Side::await_end() {
  std::unique_lock lock(mutex_);
  told_.wait(lock, [this] { return over_; });
}

bool Side::end_it(const std::string& why, bool tell_other) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(open_, false)) return false;
  if (tell_other) carry_end(why);
  return true;
}

void Side::deliver(Message message) {
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

void Side::finish(const std::string& why) {
  // The handler may own this side's channel, and the other way round: here that ends.
  if (const auto handler = std::exchange(handler_, nullptr)) handler->ended(why);
  const std::lock_guard lock(mutex_);
  over_ = true;
  told_.notify_all();
}

namespace {

class OwnedChannel final : public Channel {
 public:
  OwnedChannel(std::shared_ptr<Side> side, std::shared_ptr<void> owner)
      : owner_(std::move(owner)), side_(std::move(side)) {}
  ~OwnedChannel() override {
    side_->close("it is over");
    side_->await_end();
  }
  void send(Message message) override { side_->send(std::move(message)); }
  void close(const std::string& why) override { side_->close(why); }

 private:
  std::shared_ptr<void> owner_;
  std::shared_ptr<Side> side_;
};

}  // namespace

std::shared_ptr<Channel> owned_channel(std::shared_ptr<Side> side, std::shared_ptr<void> owner) {
  return std::make_shared<OwnedChannel>(std::move(side), std::move(owner));
}

void Guests::admit(const std::shared_ptr<Side>& side) {
  const std::lock_guard lock(mutex_);
  sides_.remove_if([](const auto& other) { return other.expired(); });
  sides_.push_back(side);
  side->begin(accept_);
}

void Guests::end_all(const std::string& why) {
  std::vector<std::shared_ptr<Side>> open;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& side : sides_) {
      if (auto still = side.lock()) open.push_back(std::move(still));
    }
  }
  for (const auto& side : open) side->close(why);
  courier_.flush();
}

}  // namespace evener
