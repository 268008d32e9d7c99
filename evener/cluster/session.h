// A conversation with a node, as the coordinator sees it.
#pragma once

#include <memory>
#include <string>

#include "evener/cluster/transport.h"
#include "evener/cluster/wire.h"

namespace evener {

class Registry;

class Session final : public Handler, public std::enable_shared_from_this<Session> {
 public:
  Session(Registry& registry, std::shared_ptr<Channel> channel)
      : registry_(registry), channel_(std::move(channel)) {}

  void received(Message message) override;
  void ended(const std::string& why) override;

  Channel& channel() { return *channel_; }
  const std::shared_ptr<Channel>& shared_channel() const { return channel_; }

  wire::Hello hello;
  int place = -1;   // that it was given
  int server = -1;  // its number, if it is one

 private:
  Registry& registry_;
  std::shared_ptr<Channel> channel_;
};

}  // namespace evener
