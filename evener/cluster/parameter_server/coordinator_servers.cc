// What the coordinator has to do with its servers.
#include <chrono>

#include <fmt/format.h>

#include "evener/cluster/parameter_server/coordinator_service.h"

namespace evener {

void CoordinatorService::await_servers() {
  if (!servers_) return;
  std::unique_lock lock(mutex_);
  const int count = servers_->count();
  const auto all_there = [&] { return servers_->joined() == count; };
  if (!all_there()) {
    options_.say(fmt::format("waiting for {} at {}",
                             count == 1 ? "a server" : fmt::format("{} servers", count),
                             listener_->address()));
  }
  for (const Seconds since = now(); !all_there();) {
    changed_.wait_for(lock, std::chrono::milliseconds(200));
    if (options_.interrupted && options_.interrupted() != 0) {
      throw Error("interrupted while there were too few servers");
    }
    if (now() - since < options_.patience) continue;
    throw Error(
        fmt::format("{} of {} servers after {:g} s: start them with `evener server --coordinator "
                    "HOST:{}`, or wait longer with --wait-seconds",
                    servers_->joined(), count, options_.patience, port()));
  }
}

void CoordinatorService::greet_server(ClientSession& session, const wire::ServerHello& hello) {
  const std::lock_guard lock(mutex_);
  if (!acceptable(session, hello.protocol(), hello.token())) return;
  if (!servers_) return refuse(session, "the coordinator keeps the model itself (--servers 0)");
  if (session.server >= 0 || session.slot >= 0) return refuse(session, "it has a slot already");
  session.server = servers_->join(session.shared_channel(), hello.address());
  if (session.server < 0) {
    return put_off(session, fmt::format("the run has as many servers as it asks for (--servers {})",
                                        options_.servers));
  }
  heartbeats_.heard(beats_of(session.server), now());
  changed_.notify_all();
}

void CoordinatorService::kept(ClientSession& session) {
  if (session.server < 0) throw Error("it is no server");
  const std::lock_guard lock(mutex_);
  servers_->kept(session.server);
  welcome_all();
}

void CoordinatorService::pushed(ClientSession& session, const wire::Pushed& pushed) {
  if (session.server < 0) throw Error("it is no server");
  const std::lock_guard lock(mutex_);
  if (model_ == nullptr || pushed.node() >= slots_.size()) return;
  WorkerSlot& slot = at(static_cast<int>(pushed.node()));
  finish_push(slot, [&] { return slot.take_part(pushed, now()); });
}

void CoordinatorService::fetched(ClientSession& session, const wire::Fetched& fetched) {
  if (session.server < 0) throw Error("it is no server");
  servers_->fetched(session.server, fetched);
}

}  // namespace evener
