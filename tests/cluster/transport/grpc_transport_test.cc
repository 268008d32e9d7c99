// Tests of gRPC only. The conformance tests check what every transport guarantees.
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cluster/transport/inbox.h"
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "evener/cluster/transport/certs.h"
#include "evener/cluster/transport/grpc/grpc_reason.h"
#include "evener/cluster/transport/transport.h"

namespace evener {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(GrpcReason, IsForPeople) {
  const auto reason = [](const char* message) {
    return reason_of(grpc::Status(grpc::StatusCode::UNAVAILABLE, message));
  };
  EXPECT_EQ(reason("DNS resolution failed for node9:7070: C-ares status is not ARES_SUCCESS "
                   "qtype=AAAA name=node9 is_balancer=0: Domain name not found"),
            "no address is known for this host");
  EXPECT_EQ(reason("failed to connect to all addresses; last error: UNKNOWN: Connection refused"),
            "cannot connect: Connection refused");
}

/// Answers every message with itself. Accepts a process that says hello.
class Echo final : public Handler {
 public:
  explicit Echo(std::shared_ptr<Channel> channel) : channel_(std::move(channel)) {}
  void received(Message message) override {
    if (message.head == "hello") channel_->admit();
    channel_->send(std::move(message));
  }
  void ended(const std::string& /*why*/) override {}

 private:
  std::shared_ptr<Channel> channel_;
};

std::unique_ptr<Listener> echo(const Tls& tls = {}) {
  return make_grpc_transport(tls)->listen("127.0.0.1:0", [](std::shared_ptr<Channel> channel) {
    return std::make_shared<Echo>(std::move(channel));
  });
}

Message message_with(const std::string& head, std::size_t bytes) {
  auto owner = std::make_shared<std::vector<std::byte>>(bytes);
  for (std::size_t i = 0; i < bytes; ++i) (*owner)[i] = static_cast<std::byte>(i * 7 % 251);
  return {head, {std::span<const std::byte>(*owner)}, owner};
}
std::vector<std::byte> body_of(const Message& message) {
  std::vector<std::byte> bytes;
  for (const auto& piece : message.body) bytes.insert(bytes.end(), piece.begin(), piece.end());
  return bytes;
}

/// Connects, sends nothing, and waits for the end: whether it came.
bool is_closed_by(const std::string& address) {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{20, 0};
  setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  there.sin_port =
      htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  EXPECT_EQ(connect(made, reinterpret_cast<const sockaddr*>(&there), sizeof there), 0);  // NOLINT
  std::array<char, 4096> received{};
  ssize_t bytes = 1;
  while (bytes > 0) bytes = read(made, received.data(), received.size());
  const bool closed = bytes == 0 || errno == ECONNRESET;
  close(made);
  return closed;
}

TEST(GrpcTransport, ReportsAPortThatIsInUse) {
  const auto listener = echo();
  EXPECT_THAT([&] { make_grpc_transport()->listen(listener->address(), nullptr); },
              testing::ThrowsMessage<Error>(HasSubstr("Address already in use")));
}

/// A stream without a message: the other deadlines are over when it exists.
TEST(GrpcTransport, DisconnectsAProcessThatSendsNothing) {
  const auto server = make_grpc_transport({}, 0, 0.2);
  const auto listener = server->listen("127.0.0.1:0", [](std::shared_ptr<Channel> channel) {
    return std::make_shared<Echo>(std::move(channel));
  });
  const auto inbox = std::make_shared<TestInbox>();
  const auto silent = make_grpc_transport()->connect(listener->address(), inbox);
  EXPECT_THAT(inbox->end(), StartsWith("ended"));
}

TEST(GrpcTransport, DisconnectsAProcessThatIsNotAdmittedThoughItSendsMessages) {
  const auto server = make_grpc_transport({}, 0, 0.2);
  const auto listener = server->listen("127.0.0.1:0", [](std::shared_ptr<Channel> channel) {
    return std::make_shared<Echo>(std::move(channel));
  });
  const auto inbox = std::make_shared<TestInbox>();
  const auto busy = make_grpc_transport()->connect(listener->address(), inbox);
  busy->send(message_with("first", 10));
  EXPECT_EQ(inbox->message().head, "first");
  bool ended = false;
  for (const Stopwatch watch; !ended && watch.elapsed() < kSoon;) {
    busy->send(message_with("another", 10));
    ended = inbox->ends_within(0.02);
  }
  EXPECT_TRUE(ended);
}

/// Then it may be silent. The end of the second one shows that the time is over.
TEST(GrpcTransport, KeepsAProcessThatIsAdmitted) {
  const auto server = make_grpc_transport({}, 0, 2);
  const auto listener = server->listen("127.0.0.1:0", [](std::shared_ptr<Channel> channel) {
    return std::make_shared<Echo>(std::move(channel));
  });
  const auto inbox = std::make_shared<TestInbox>(), other = std::make_shared<TestInbox>();
  const auto channel = make_grpc_transport()->connect(listener->address(), inbox);
  channel->send(message_with("hello", 10));
  EXPECT_EQ(inbox->message().head, "hello");
  const auto silent = make_grpc_transport()->connect(listener->address(), other);
  EXPECT_THAT(other->end(), StartsWith("ended"));
  channel->send(message_with("second", 10));
  EXPECT_EQ(inbox->message().head, "second");
}

class TransportTls : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fmt::format("{}/evener_certs_{}", testing::TempDir(), getpid());
    std::filesystem::remove_all(folder_);
    make_certs({.folder = folder_ + "/ours"});
    make_certs({.folder = folder_ + "/rogue"});
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Tls tls(const std::string& authority, const std::string& role) const {
    const auto read = [&](const std::string& name) {
      std::ostringstream text;
      text << std::ifstream(folder_ + "/" + authority + "/" + name).rdbuf();
      return text.str();
    };
    return {read("ca.pem"), read(role + ".pem"), read(role + ".key")};
  }
  /// "answered", or why not.
  std::string result_of(const Tls& own) {
    const auto listener = echo(tls("ours", "coordinator"));
    const auto inbox = std::make_shared<TestInbox>();
    const auto channel = make_grpc_transport(own)->connect(listener->address(), inbox);
    channel->send(message_with("hello", 1000));
    try {
      return body_of(inbox->message()).size() == 1000 ? "answered" : "something else";
    } catch (const Error& problem) {
      return problem.what();
    }
  }
  std::string folder_;
};

/// One that does not even begin the handshake, with and without TLS.
TEST_F(TransportTls, DisconnectsAProcessThatDoesNotBegin) {
  for (const Tls& own : {Tls{}, tls("ours", "coordinator")}) {
    const auto server = make_grpc_transport(own, 0, 0.2);
    const auto listener = server->listen("127.0.0.1:0", [](std::shared_ptr<Channel> channel) {
      return std::make_shared<Echo>(std::move(channel));
    });
    EXPECT_TRUE(is_closed_by(listener->address())) << own.on();
  }
}

TEST_F(TransportTls, CertificatesOfOneAuthorityConnect) {
  EXPECT_EQ(result_of(tls("ours", "worker")), "answered");
}

TEST_F(TransportTls, OtherCertificatesAreRefused) {
  EXPECT_THAT(result_of(tls("rogue", "worker")), StartsWith("ended"));
  EXPECT_THAT(result_of({}), StartsWith("ended")) << "without TLS";
  Tls without = tls("ours", "worker");
  without.certificate.clear();
  without.key.clear();
  EXPECT_THAT(result_of(without), StartsWith("ended")) << "without a certificate";
  Tls foreign = tls("ours", "worker");
  const Tls rogue = tls("rogue", "worker");
  foreign.certificate = rogue.certificate;
  foreign.key = rogue.key;
  EXPECT_THAT(result_of(foreign), StartsWith("ended")) << "a certificate of another authority";
}

TEST_F(TransportTls, AnExpiredCertificateIsRefused) {
  make_certs({.folder = folder_ + "/old", .hosts = {"127.0.0.1"}, .days = -1});
  const auto listener = echo(tls("old", "coordinator"));
  const auto inbox = std::make_shared<TestInbox>();
  const auto channel =
      make_grpc_transport(tls("old", "worker"))->connect(listener->address(), inbox);
  EXPECT_THAT(inbox->end(), StartsWith("ended"));
}

TEST_F(TransportTls, AnAuthorityIsNotOverwrittenAndKeysArePrivate) {
  EXPECT_THROW(make_certs({.folder = folder_ + "/ours"}), UsageError);
  namespace fs = std::filesystem;
  const auto permissions = fs::status(folder_ + "/ours/worker.key").permissions();
  EXPECT_EQ(permissions, fs::perms::owner_read | fs::perms::owner_write);
}

}  // namespace
}  // namespace evener
