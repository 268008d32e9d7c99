// One side of a conversation, for transports whose handlers a executor calls: what is the same
// wherever the other side is.
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "evener/cluster/transport/serial_executor.h"
#include "evener/cluster/transport/transport.h"

namespace evener {

class Endpoint : public Channel, public std::enable_shared_from_this<Endpoint> {
 public:
  /// The executor outlives the conversation, but not this object.
  explicit Endpoint(SerialExecutor& executor) : executor_(executor) {}

  void send(Message message) final;
  void close(const std::string& why) final;

  // For the transport: what the executor brings, in this order.
  /// Who hears it. Of one that others began: whom `accept` makes.
  void begin(std::shared_ptr<Handler> handler);
  void begin(const Accept& accept);
  void bring(Message message);
  /// The other side has ended it, or is gone.
  void bring_end(const std::string& why);
  /// Until the handler has been told of the end. Not in a handler.
  void await_end();

 protected:
  // To the other side, one call at a time. They call neither this object nor a handler.
  virtual void carry(Message message) = 0;
  virtual void carry_end(const std::string& why) = 0;

 private:
  /// Whether this call has ended it.
  bool end_it(const std::string& why, bool tell_other);
  // By the executor.
  void deliver(Message message);
  void finish(const std::string& why);

  SerialExecutor& executor_;
  std::mutex mutex_;
  std::condition_variable told_;
  bool open_ = true;
  bool over_ = false;                 // the handler has been told
  std::shared_ptr<Handler> handler_;  // of the executor's thread
};

/// A side that ends when it goes, for who has connected. `owner` is what carries it.
std::shared_ptr<Channel> owned_channel(std::shared_ptr<Endpoint> side, std::shared_ptr<void> owner);

/// The conversations that others began with a listener.
class AcceptedConnections {
 public:
  AcceptedConnections(SerialExecutor& executor, Accept accept)
      : executor_(executor), accept_(std::move(accept)) {}
  /// Its handler is made before anything is brought to it.
  void admit(const std::shared_ptr<Endpoint>& side);
  /// Waits until all have been told. Nobody is admitted any more.
  void end_all(const std::string& why);

 private:
  SerialExecutor& executor_;
  Accept accept_;
  std::mutex mutex_;
  std::list<std::weak_ptr<Endpoint>> endpoints_;
};

}  // namespace evener
