// One side of a connection, for transports whose handlers an executor calls. The same for all of
// them, wherever the other side is.
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
  /// The executor outlives the connection; this object may outlive the executor.
  explicit Endpoint(SerialExecutor& executor) : executor_(executor) {}

  void send(Message message) final;
  void close(const std::string& why) final;

  // For the transport: the executor runs these in the order of the calls.
  /// Sets the handler. For a connection that another process opened, `accept` makes it.
  void begin(std::shared_ptr<Handler> handler);
  void begin(const Accept& accept);
  void bring(Message message);
  /// The other side has closed the connection, or has died.
  void bring_end(const std::string& why);
  /// Waits until the handler was told of the end. Not in a handler.
  void await_end();

 protected:
  // To the other side, one call at a time. They call neither this object nor a handler.
  virtual void carry(Message message) = 0;
  virtual void carry_end(const std::string& why) = 0;

 private:
  /// Whether this call has ended the connection.
  bool end_it(const std::string& why, bool tell_other);
  // Run by the executor.
  void deliver(Message message);
  void finish(const std::string& why);

  SerialExecutor& executor_;
  std::mutex mutex_;
  std::condition_variable told_;
  bool open_ = true;
  bool over_ = false;                 // the handler has been told
  std::shared_ptr<Handler> handler_;  // of the executor's thread
};

/// A channel that closes the connection when it is destroyed, for the side that has connected.
/// `owner` is kept alive with it.
std::shared_ptr<Channel> owned_channel(std::shared_ptr<Endpoint> side, std::shared_ptr<void> owner);

/// The connections that other processes have opened to a listener.
class AcceptedConnections {
 public:
  AcceptedConnections(SerialExecutor& executor, Accept accept)
      : executor_(executor), accept_(std::move(accept)) {}
  /// Its handler is made before a message is delivered.
  void admit(const std::shared_ptr<Endpoint>& side);
  /// Waits until all handlers were told. No connection is admitted after that.
  void end_all(const std::string& why);

 private:
  SerialExecutor& executor_;
  Accept accept_;
  std::mutex mutex_;
  std::list<std::weak_ptr<Endpoint>> endpoints_;
};

}  // namespace evener
