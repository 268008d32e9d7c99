// Conversations between processes: messages in order, both ways, until one side ends it. What
// carries them is behind these few types.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace evener {

/// A small head that says what it is (wire.proto), and bytes that travel without being copied.
struct Message {
  std::string head;
  std::vector<std::span<const std::byte>> body;  // in pieces
  std::shared_ptr<const void> owner;             // of the body

  std::size_t body_size() const;
  /// As it counts for kMostMessageBytes: the head's length, the head and the body.
  std::size_t size() const;
};

/// No message is larger than this; what is, is sent in chunks (payload.h). One that is all the same
/// ends its conversation.
inline constexpr std::size_t kMostMessageBytes = std::size_t{4} << 20;

/// One conversation, as one of the two sees it. All calls return at once, from any thread.
class Channel {
 public:
  virtual ~Channel() = default;
  /// After the end of the conversation nothing happens.
  virtual void send(Message message) = 0;
  /// What was sent before may be lost.
  virtual void close(const std::string& why) = 0;
};

/// The other end of it: called by the transport's threads, one call at a time for a conversation.
class Handler {
 public:
  virtual ~Handler() = default;
  /// Error: the conversation ends with that reason.
  virtual void received(Message message) = 0;
  /// The last call.
  virtual void ended(const std::string& why) = 0;
};

/// PEM texts; mutual: each side shows a certificate that the authority signed. Empty: no TLS.
struct Tls {
  std::string authority, certificate, key;

  bool on() const { return !authority.empty(); }
};

class Listener {
 public:
  /// Ends all conversations.
  virtual ~Listener() = default;
  /// Where others reach it: what was asked for, with what was left open filled in.
  virtual std::string address() const = 0;
};

/// Makes the handler of a conversation that somebody has begun.
using Accept = std::function<std::shared_ptr<Handler>(std::shared_ptr<Channel>)>;

class Transport {
 public:
  virtual ~Transport() = default;
  /// Error where the address cannot be had.
  virtual std::unique_ptr<Listener> listen(const std::string& address, Accept accept) = 0;
  /// Begins a conversation. That it failed is told by `ended`. When the channel goes, it has ended;
  /// it must not go in a handler.
  virtual std::shared_ptr<Channel> connect(const std::string& address,
                                           std::shared_ptr<Handler> handler) = 0;
};

/// Between any machines. An address is HOST:PORT, port 0: any that is free. `dead_after`: seconds
/// until a conversation ends whose other side the network no longer reaches; 0: when TCP finds out,
/// which may take a quarter of an hour.
std::shared_ptr<Transport> make_grpc_transport(const Tls& tls = {}, double dead_after = 0);

/// Between threads of this process. An address is any name; to listen, empty: one that is free.
std::shared_ptr<Transport> make_local_transport();

}  // namespace evener
