// A conversation with a node, as the coordinator sees it.
#pragma once

#include <memory>
#include <string>

#include "evener/cluster/transport/transport.h"
#include "evener/cluster/wire/wire.h"

namespace evener {

class CoordinatorService;

class ClientSession final : public Handler, public std::enable_shared_from_this<ClientSession> {
 public:
  ClientSession(CoordinatorService& coordinator, std::shared_ptr<Channel> channel)
      : coordinator_(coordinator), channel_(std::move(channel)) {}

  void received(Message message) override;
  void ended(const std::string& why) override;

  Channel& channel() { return *channel_; }
  const std::shared_ptr<Channel>& shared_channel() const { return channel_; }

  wire::Hello hello;
  int slot = -1;    // that it was given
  int server = -1;  // its number, if it is one

 private:
  CoordinatorService& coordinator_;
  std::shared_ptr<Channel> channel_;
};

}  // namespace evener
