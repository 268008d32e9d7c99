// Conversations between threads of one process.
#include <map>

#include <fmt/format.h>

#include "evener/cluster/side.h"
#include "evener/core/error.h"

namespace evener {

namespace {

class LocalSide final : public Side {
 public:
  using Side::Side;
  void meet(std::shared_ptr<LocalSide> other) { other_ = std::move(other); }

 protected:
  void carry(Message message) override {
    if (other_) other_->bring(std::move(message));
  }
  void carry_end(const std::string& why) override {
    if (other_) other_->bring_end("the other side has ended it: " + why);
    other_.reset();  // each has the other: here that ends
  }

 private:
  std::shared_ptr<LocalSide> other_;
};

/// What listeners and channels share.
struct Town {
  std::mutex mutex;
  std::map<std::string, Guests*> listeners;
  int names = 0;
  Courier courier;
};

class LocalListener final : public Listener {
 public:
  LocalListener(std::shared_ptr<Town> town, const std::string& address, Accept accept)
      : town_(std::move(town)), address_(address), guests_(town_->courier, std::move(accept)) {
    const std::lock_guard lock(town_->mutex);
    while (address_.empty() || (address.empty() && town_->listeners.count(address_) > 0)) {
      address_ = fmt::format("local {}", town_->names++);
    }
    if (!town_->listeners.emplace(address_, &guests_).second) {
      throw Error(fmt::format("{}: cannot listen there: somebody does already", address_));
    }
  }
  ~LocalListener() override {
    {
      const std::lock_guard lock(town_->mutex);
      town_->listeners.erase(address_);
    }
    guests_.end_all("the listener has gone");
  }
  LocalListener(const LocalListener&) = delete;
  LocalListener& operator=(const LocalListener&) = delete;
  std::string address() const override { return address_; }

 private:
  std::shared_ptr<Town> town_;
  std::string address_;
  Guests guests_;
};

class LocalTransport final : public Transport {
 public:
  std::unique_ptr<Listener> listen(const std::string& address, Accept accept) override {
    return std::make_unique<LocalListener>(town_, address, std::move(accept));
  }
  std::shared_ptr<Channel> connect(const std::string& address,
                                   std::shared_ptr<Handler> handler) override {
    auto here = std::make_shared<LocalSide>(town_->courier);
    here->begin(std::move(handler));
    const std::lock_guard lock(town_->mutex);
    const auto found = town_->listeners.find(address);
    if (found == town_->listeners.end()) {
      here->bring_end(fmt::format("cannot connect: nobody listens at '{}'", address));
    } else {
      auto there = std::make_shared<LocalSide>(town_->courier);
      here->meet(there);
      there->meet(here);
      found->second->admit(there);
    }
    return owned_channel(std::move(here), town_);
  }

 private:
  std::shared_ptr<Town> town_ = std::make_shared<Town>();
};

}  // namespace

std::shared_ptr<Transport> make_local_transport() {
  return std::make_shared<LocalTransport>();
}

}  // namespace evener
