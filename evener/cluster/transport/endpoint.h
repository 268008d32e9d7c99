// One side of a connection, for transports that call their handlers on an executor: the local
// transport and MPI.
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
  void receive(Message message);
  /// The other side has closed the connection, or has died.
  void receive_end(const std::string& why);
  /// Waits until Handler::ended has returned. Not in a handler.
  void await_end();

 protected:
  // Send to the other side, one call at a time. They must not call this object or a handler.
  virtual void transmit(Message message) = 0;
  virtual void transmit_end(const std::string& why) = 0;

 private:
  /// Whether this call has ended the connection.
  bool end(const std::string& why, bool notify_other);
  // Run by the executor.
  void deliver(Message message);
  void finish(const std::string& why);

  SerialExecutor& executor_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool open_ = true;
  bool over_ = false;                 // Handler::ended has returned
  std::shared_ptr<Handler> handler_;  // used only on the executor's thread
};

/// A channel that closes the connection when it is destroyed, for the side that has connected.
/// `owner` is kept alive with it.
std::shared_ptr<Channel> owned_channel(std::shared_ptr<Endpoint> side, std::shared_ptr<void> owner);

/// The connections that other processes have opened to a listener.
class AcceptedConnections {
 public:
  AcceptedConnections(SerialExecutor& executor, Accept accept)
      : executor_(executor), accept_(std::move(accept)) {}
  /// Makes its handler before a message is delivered.
  void admit(const std::shared_ptr<Endpoint>& side);
  /// Waits until Handler::ended has returned for all. No connection is admitted after that.
  void end_all(const std::string& why);

 private:
  SerialExecutor& executor_;
  Accept accept_;
  std::mutex mutex_;
  std::list<std::weak_ptr<Endpoint>> endpoints_;
};

}  // namespace evener
