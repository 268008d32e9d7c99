// The limits of accepted connections. The faults tests have the same with processes.
#include <optional>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "evener/cluster/transport/grpc/tcp_acceptor.h"
#include "evener/core/error.h"
#include "evener/core/mailbox.h"

namespace evener {
namespace {

/// During its lifetime this process may have so many descriptors open.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t most) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit limit{most, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

class GrpcAcceptor : public testing::Test {
 protected:
  GrpcAcceptor() {
    acceptor_.start([this](int /*listening*/, int connection) {
      [[maybe_unused]] const ssize_t sent = write(connection, "1", 1);
      accepted_.put(connection);
    });
  }
  ~GrpcAcceptor() override {
    for (const int one : held_) close(one);
    while (const auto one = accepted_.get_within(0)) close(*one);
  }
  int connect_from(const char* source) {
    const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in own{}, there{};
    own.sin_family = there.sin_family = AF_INET;
    inet_pton(AF_INET, source, &own.sin_addr);
    inet_pton(AF_INET, "127.0.0.1", &there.sin_addr);
    there.sin_port = htons(static_cast<std::uint16_t>(acceptor_.port()));
    EXPECT_EQ(bind(made, reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);         // NOLINT
    EXPECT_EQ(connect(made, reinterpret_cast<const sockaddr*>(&there), sizeof there), 0);  // NOLINT
    return made;
  }
  static bool is_admitted(int connection) {
    char byte = 0;
    return read(connection, &byte, 1) == 1;
  }
  /// Whether a connection from there is admitted. Its accepted side stays open.
  bool admits(const char* source) {
    const int made = connect_from(source);
    const bool admitted = is_admitted(made);
    close(made);
    return admitted;
  }
  /// As `admits`, where a connection has just ended: the acceptor looks for those now and then.
  bool admits_soon(const char* source) {
    for (int tries = 0; tries < 1000; ++tries) {
      if (admits(source)) return true;
      usleep(10'000);
    }
    return false;
  }

  static constexpr std::size_t kMost = 80;
  TcpAcceptor acceptor_{"127.0.0.1:0", 1000, kMost};
  Mailbox<int> accepted_;
  std::vector<int> held_;
};

TEST_F(GrpcAcceptor, LeavesDescriptorsForFiles) {
  constexpr rlim_t kLimit = 100;
  const DescriptorLimit limit(kLimit);
  bool all = true;
  while (all) {  // keeps both sides, and the last one has only the side that has connected
    held_.push_back(connect_from("127.0.0.1"));
    all = is_admitted(held_.back());
  }
  for (rlim_t i = 1; i < kLimit / 4; ++i) {
    held_.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
    ASSERT_GE(held_.back(), 0) << i;
  }
}

TEST_F(GrpcAcceptor, OneAddressDoesNotGetAllConnections) {
  const DescriptorLimit limit(100);
  std::size_t admitted = 0;
  while (admits("127.0.0.1")) ++admitted;
  EXPECT_EQ(admitted, ConnectionBudget(100).of_address);
  EXPECT_TRUE(admits("127.0.0.2"));
  EXPECT_FALSE(admits("127.0.0.1"));
  close(*accepted_.get_within(10));  // the first of 127.0.0.1
  EXPECT_TRUE(admits_soon("127.0.0.1"));
}

TEST_F(GrpcAcceptor, AllAddressesTogetherHaveALimit) {
  std::size_t admitted = 0;
  for (const char* source : {"127.0.0.1", "127.0.0.2"}) {
    for (std::size_t i = 0; i < kMost / 2; ++i) admitted += admits(source) ? 1 : 0;
  }
  EXPECT_EQ(admitted, kMost);
  EXPECT_FALSE(admits("127.0.0.3"));
  close(*accepted_.get_within(10));
  EXPECT_TRUE(admits_soon("127.0.0.3"));
  EXPECT_FALSE(admits("127.0.0.3"));
}

TEST_F(GrpcAcceptor, SmallAndLargeLimits) {
  EXPECT_EQ(ConnectionBudget(40).descriptors, 30U);
  EXPECT_EQ(ConnectionBudget(40).of_address, 15U);
  EXPECT_EQ(ConnectionBudget(1024).descriptors, 960U);
  EXPECT_EQ(ConnectionBudget(1024).of_address, 480U);
  EXPECT_EQ(ConnectionBudget(1 << 20).connections, 8192U);
  EXPECT_EQ(ConnectionBudget(1 << 20).of_address, 4096U);
}

TEST(GrpcAcceptorAddress, NamesWhatItCannotListenAt) {
  EXPECT_THAT([] { TcpAcceptor("203.0.113.1:0", 1000); },
              testing::ThrowsMessage<Error>(
                  "203.0.113.1:0: cannot listen there: Cannot assign requested address"));
  EXPECT_THAT([] { TcpAcceptor("no.such.host.invalid:0", 1000); },
              testing::ThrowsMessage<Error>(
                  testing::StartsWith("no.such.host.invalid:0: cannot listen there: ")));
}

/// Wildcards take IPv4 connections too, also where the address is written as IPv6.
TEST(GrpcAcceptorAddress, AnyAddressOfTheMachine) {
  for (const char* address : {"0.0.0.0:0", "[::]:0"}) {
    Mailbox<int> accepted;
    std::optional<TcpAcceptor> acceptor;
    try {
      acceptor.emplace(address, 1000);
    } catch (const Error& problem) {
      EXPECT_EQ(address[0], '[') << problem.what();  // a machine without IPv6
      continue;
    }
    acceptor->start([&](int /*listening*/, int connection) { accepted.put(connection); });
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    there.sin_port = htons(static_cast<std::uint16_t>(acceptor->port()));
    const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(connect(made, reinterpret_cast<const sockaddr*>(&there), sizeof there), 0);  // NOLINT
    const auto connection = accepted.get_within(10);
    ASSERT_TRUE(connection) << address;
    close(*connection);
    close(made);
  }
}

}  // namespace
}  // namespace evener
