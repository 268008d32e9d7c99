// Tests of gRPC only. The conformance tests check what every transport guarantees.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cluster/transport/inbox.h"
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "evener/cluster/transport/certs.h"
#include "evener/cluster/transport/transport.h"

namespace evener {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// Answers every message with itself.
class Echo final : public Handler {
 public:
  explicit Echo(std::shared_ptr<Channel> channel) : channel_(std::move(channel)) {}
  void received(Message message) override { channel_->send(std::move(message)); }
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

TEST(GrpcTransport, ReportsAPortThatIsInUse) {
  const auto listener = echo();
  EXPECT_THAT([&] { make_grpc_transport()->listen(listener->address(), nullptr); },
              testing::ThrowsMessage<Error>(HasSubstr("Address already in use")));
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
