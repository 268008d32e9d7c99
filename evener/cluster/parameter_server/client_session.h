// A connection to the coordinator, on the coordinator's side: dispatches the client's messages.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "evener/cluster/membership/membership.h"

namespace evener {

class CoordinatorService;

class ClientSession final : public Handler {
 public:
  /// `coordinator` outlives it.
  ClientSession(CoordinatorService& coordinator, std::shared_ptr<Client> client)
      : coordinator_(coordinator), client_(std::move(client)) {}

  void received(Message message) override;
  void ended(const std::string& why) override;

 private:
  CoordinatorService& coordinator_;
  std::shared_ptr<Client> client_;
  bool said_hello_ = false;
};

}  // namespace evener
