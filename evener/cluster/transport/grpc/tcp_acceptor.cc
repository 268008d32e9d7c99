#include "evener/cluster/transport/grpc/tcp_acceptor.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "evener/core/error.h"

namespace evener {

namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

/// For checkpoints, logs, and connections to others.
constexpr std::size_t kReserved = 64;

std::size_t descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX / 2;
  return limit.rlim_cur;
}

[[noreturn]] void cannot_listen(const std::string& address, const std::string& why) {
  throw Error(fmt::format("{}: cannot listen there: {}", address, why));
}

Addresses resolve(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int unknown = getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &found);
  if (unknown != 0) cannot_listen(address, gai_strerror(unknown));
  return {found, &freeaddrinfo};
}

bool is_any(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof v4);
    return v4.sin_addr.s_addr == INADDR_ANY;
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, address, sizeof v6);
  return std::memcmp(&v6.sin6_addr, &in6addr_any, sizeof in6addr_any) == 0;
}

in_port_t& port_in(sockaddr_storage& address) {
  return address.ss_family == AF_INET6
             ? reinterpret_cast<sockaddr_in6&>(address).sin6_port  // NOLINT
             : reinterpret_cast<sockaddr_in&>(address).sin_port;   // NOLINT
}

/// The same port at all addresses of this machine, by IPv4 and IPv6.
sockaddr_storage any_address(in_port_t port) {
  sockaddr_storage any{};
  auto& v6 = reinterpret_cast<sockaddr_in6&>(any);  // NOLINT
  v6.sin6_family = AF_INET6;
  v6.sin6_addr = in6addr_any;
  v6.sin6_port = port;
  return any;
}

/// A listening socket, or -1 with errno set.
int listen_at(const sockaddr_storage& address, int unsent_limit) {
  const int made =
      socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
  if (made < 0) return -1;
  const auto set = [&](int level, int name, int value) {
    setsockopt(made, level, name, &value, sizeof value);
  };
  // Connections inherit the last two.
  set(SOL_SOCKET, SO_REUSEADDR, 1);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, unsent_limit);
  if (address.ss_family == AF_INET6) {
    const bool any = is_any(reinterpret_cast<const sockaddr*>(&address));  // NOLINT
    set(IPPROTO_IPV6, IPV6_V6ONLY, any ? 0 : 1);
  }
  const socklen_t size = address.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (bind(made, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&  // NOLINT
      listen(made, SOMAXCONN) == 0) {
    return made;
  }
  const int problem = errno;
  close(made);
  errno = problem;
  return -1;
}

int port_of(int listening) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  getsockname(listening, reinterpret_cast<sockaddr*>(&bound), &size);  // NOLINT
  return ntohs(port_in(bound));
}

}  // namespace

ConnectionBudget::ConnectionBudget(std::size_t limit, std::size_t most_connections)
    : descriptors(limit - std::min(kReserved, limit / 4)),
      connections(std::min(descriptors, most_connections)),
      of_address(std::max<std::size_t>(1, connections / 2)) {}

TcpAcceptor::TcpAcceptor(const std::string& address, int unsent_limit, std::size_t most_connections)
    : most_connections_(most_connections) {
  const Addresses found = resolve(address);
  int problem = 0;
  for (const addrinfo* at = found.get(); at != nullptr; at = at->ai_next) {
    if (at->ai_family != AF_INET && at->ai_family != AF_INET6) continue;
    sockaddr_storage place{};
    std::memcpy(&place, at->ai_addr, at->ai_addrlen);
    // A name may have several addresses; all get the same port.
    if (port_ != 0) port_in(place) = htons(static_cast<std::uint16_t>(port_));
    const bool any = is_any(at->ai_addr);
    int listening = any ? listen_at(any_address(port_in(place)), unsent_limit) : -1;
    // Without IPv6.
    if (listening < 0 && !(any && errno == EADDRINUSE)) listening = listen_at(place, unsent_limit);
    if (listening < 0) {
      problem = errno;
      continue;
    }
    listening_.push_back(listening);
    port_ = port_of(listening);
    if (any) break;
  }
  if (listening_.empty()) cannot_listen(address, std::generic_category().message(problem));
  stop_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (stop_ < 0) cannot_listen(address, std::generic_category().message(errno));
}

TcpAcceptor::~TcpAcceptor() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t ignored = write(stop_, &one, sizeof one);
  if (thread_.joinable()) thread_.join();
  for (const int listening : listening_) close(listening);
  close(stop_);
}

void TcpAcceptor::start(std::function<void(int, int)> take) {
  take_ = std::move(take);
  thread_ = std::thread([this] { accept_all(); });
}

void TcpAcceptor::accept_all() {
  std::vector<pollfd> polled{{stop_, POLLIN, 0}};
  for (const int listening : listening_) polled.push_back({listening, POLLIN, 0});
  for (;;) {
    if (poll(polled.data(), polled.size(), -1) < 0) continue;  // interrupted
    if (polled.front().revents != 0) return;
    for (std::size_t i = 1; i < polled.size(); ++i) {
      if (polled[i].revents != 0) accept_waiting(polled[i].fd);
    }
  }
}

void TcpAcceptor::accept_waiting(int listening) {
  for (;;) {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    const int descriptor = accept4(listening, reinterpret_cast<sockaddr*>(&peer), &size,  // NOLINT
                                   SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0) {
      if (errno == EAGAIN) return;
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        // The connection stays in the queue: without a pause this thread would use a whole core.
        constexpr int kPauseMilliseconds = 100;
        pollfd stop{stop_, POLLIN, 0};
        poll(&stop, 1, kPauseMilliseconds);
        return;
      }
      continue;  // this connection has failed
    }
    Source source{};
    if (peer.ss_family == AF_INET6) {
      const auto& v6 = reinterpret_cast<const sockaddr_in6&>(peer);  // NOLINT
      // One subscriber usually has all addresses with the same first half.
      const std::size_t used = IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) ? 16 : 8;
      std::memcpy(source.data(), &v6.sin6_addr, used);
    } else {
      std::memcpy(source.data(), &reinterpret_cast<const sockaddr_in&>(peer).sin_addr,
                  4);  // NOLINT
    }
    if (admit(descriptor, source)) {
      take_(listening, descriptor);
    } else {
      close(descriptor);
    }
  }
}

bool TcpAcceptor::admit(int descriptor, const Source& source) {
  const ConnectionBudget budget(descriptor_limit(), most_connections_);
  connections_.erase(descriptor);  // an earlier connection, which has ended
  // The system gives the smallest free number, so all smaller ones are in use.
  if (static_cast<std::size_t>(descriptor) + 1 > budget.descriptors) return false;
  if (!has_room(budget, source)) {
    forget_ended();
    if (!has_room(budget, source)) return false;
  }
  struct stat status {};
  if (fstat(descriptor, &status) == 0) connections_[descriptor] = {status.st_ino, source};
  return true;
}

bool TcpAcceptor::has_room(const ConnectionBudget& budget, const Source& source) const {
  if (connections_.size() >= budget.connections) return false;
  const auto of_address =
      std::count_if(connections_.begin(), connections_.end(),
                    [&](const auto& connection) { return connection.second.source == source; });
  return static_cast<std::size_t>(of_address) < budget.of_address;
}

void TcpAcceptor::forget_ended() {
  // One call of the system for each connection: somebody who connects all the time would otherwise
  // keep a core busy.
  constexpr Seconds kPause = 0.02;
  if (forgot_ && forgot_->elapsed() < kPause) return;
  forgot_.emplace();
  std::erase_if(connections_, [](const auto& connection) {
    struct stat status {};
    return fstat(connection.first, &status) != 0 || status.st_ino != connection.second.inode;
  });
}

}  // namespace evener
