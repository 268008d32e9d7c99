// Accepts TCP connections for a gRPC server. gRPC stops to accept for good when the process has no
// free descriptor (grpc/grpc#20418), so this thread accepts for it and leaves descriptors free for
// files and own connections, however many connections strangers open. It also bounds the number of
// connections, because each of them costs memory.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

#include "evener/core/time.h"

namespace evener {

/// How many connections are accepted if the process may open `limit` descriptors.
struct ConnectionBudget {
  static constexpr std::size_t kMost = 8192;  // twice the largest number of workers
  explicit ConnectionBudget(std::size_t limit, std::size_t most_connections = kMost);

  std::size_t descriptors;  // in use, with one more connection
  std::size_t connections;
  std::size_t of_address;  // connections from one address
};

class TcpAcceptor {
 public:
  /// Binds the address HOST:PORT. Error with the system's reason.
  /// `unsent_limit`: milliseconds until a connection ends whose data is not acknowledged.
  TcpAcceptor(const std::string& address, int unsent_limit,
              std::size_t most_connections = ConnectionBudget::kMost);
  TcpAcceptor(const TcpAcceptor&) = delete;
  TcpAcceptor& operator=(const TcpAcceptor&) = delete;
  /// No connection is accepted after that.
  ~TcpAcceptor();

  int port() const { return port_; }
  /// Calls take(listening socket, connection) on a thread. `take` owns the connection.
  void start(std::function<void(int, int)> take);

 private:
  using Source = std::array<unsigned char, 16>;  // an IPv6 address, its last half zero, or IPv4
  struct Connection {
    ino_t inode;  // shows whether the descriptor is still this connection
    Source source;
  };

  void accept_all();
  void accept_waiting(int listening);
  /// Whether there is room for it.
  bool admit(int descriptor, const Source& source);
  bool has_room(const ConnectionBudget& budget, const Source& source) const;
  void forget_ended();

  std::vector<int> listening_;
  int stop_ = -1;  // an eventfd
  int port_ = 0;
  std::function<void(int, int)> take_;
  std::size_t most_connections_;
  std::map<int, Connection> connections_;  // by descriptor; some may have ended
  std::optional<Stopwatch> forgot_;        // since the last search for those
  std::thread thread_;
};

}  // namespace evener
