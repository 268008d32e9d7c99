// Connections between processes: messages in order, in both directions, until one side closes the
// connection. gRPC, MPI and threads of one process implement these types.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace evener {

/// A small head (wire.proto) and a body of bytes that is sent without a copy.
struct Message {
  std::string head;
  std::vector<std::span<const std::byte>> body;  // in pieces
  std::shared_ptr<const void> owner;             // of the body

  std::size_t body_size() const;
  /// The size that kMostMessageBytes limits: the length of the head, the head and the body.
  std::size_t size() const;
};

/// The largest message. Larger data is sent in chunks (chunks.h). A larger message closes its
/// connection.
inline constexpr std::size_t kMostMessageBytes = std::size_t{4} << 20;

/// One side of a connection. All calls return at once, and can come from any thread.
class Channel {
 public:
  virtual ~Channel() = default;
  /// Does nothing after the connection has ended.
  virtual void send(Message message) = 0;
  /// Messages that were sent before may be lost.
  virtual void close(const std::string& why) = 0;
  /// The process that has opened the connection has said what it is, and was accepted. gRPC closes
  /// a connection that is not admitted in time: see make_grpc_transport. Others have no strangers.
  virtual void admit() {}
};

/// Receives what arrives on a connection. The transport's threads call it, one call at a time per
/// connection.
class Handler {
 public:
  virtual ~Handler() = default;
  /// An Error that it throws closes the connection with that reason.
  virtual void received(Message message) = 0;
  /// The last call.
  virtual void ended(const std::string& why) = 0;
};

/// PEM texts. TLS is mutual: each side shows a certificate that the authority signed. Empty: no
/// TLS.
struct Tls {
  std::string authority, certificate, key;

  bool on() const { return !authority.empty(); }
};

class Listener {
 public:
  /// Closes all connections.
  virtual ~Listener() = default;
  /// Where others reach it: the address that was asked for, with the port or name that was chosen.
  virtual std::string address() const = 0;
};

/// Makes the handler of a connection that another process has opened.
using Accept = std::function<std::shared_ptr<Handler>(std::shared_ptr<Channel>)>;

class Transport {
 public:
  virtual ~Transport() = default;
  /// Error where it cannot listen at the address.
  virtual std::unique_ptr<Listener> listen(const std::string& address, Accept accept) = 0;
  /// Opens a connection. Where that fails, `ended` is called. The destructor of the channel waits
  /// for the end of the connection, so it must not run in a handler.
  virtual std::shared_ptr<Channel> connect(const std::string& address,
                                           std::shared_ptr<Handler> handler) = 0;
};

/// Between any machines. An address is HOST:PORT, port 0: any free port. `dead_after`: seconds
/// until a connection ends whose other side cannot be reached any more; 0: when TCP detects it,
/// which may take 15 minutes. `admission`: seconds that a process which connects here has for each
/// of TLS, its first stream and Channel::admit, before it is disconnected. UsageError in a build
/// without gRPC.
std::shared_ptr<Transport> make_grpc_transport(const Tls& tls = {}, double dead_after = 0,
                                               double admission = 10);

/// Between threads of this process. An address is any name; to listen, empty: any free name.
std::shared_ptr<Transport> make_local_transport();

/// Options with gRPC without TLS where no transport was given.
template <class Options>
Options with_transport(Options options) {
  if (!options.transport) options.transport = make_grpc_transport();
  return options;
}

}  // namespace evener
