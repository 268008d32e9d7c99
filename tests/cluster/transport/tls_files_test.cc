#include "evener/cluster/transport/tls_files.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "evener/cluster/transport/certs.h"
#include "evener/core/error.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

class TlsFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fmt::format("{}/evener_tls_{}", testing::TempDir(), getpid());
    fs::remove_all(folder_);
    make("ours");
  }
  void TearDown() override { fs::remove_all(folder_); }

  void make(const std::string& name, int days = 365) {
    make_certs(
        {.folder = folder_ + "/" + name, .hosts = {"node1", "10.0.0.1", "::1"}, .days = days});
  }
  std::string path(const std::string& file) const { return folder_ + "/ours/" + file; }
  TlsFiles files() const { return {path("ca.pem"), path("server.pem"), path("server.key")}; }
  void damage(const std::string& file) const { std::ofstream(path(file)) << "-----BEGIN NOTHING"; }
  void copy_from(const std::string& other, const std::string& file) const {
    fs::copy_file(folder_ + "/" + other + "/" + file, path(file),
                  fs::copy_options::overwrite_existing);
  }
  std::string problem() const {
    try {
      read_tls_files(files());
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  }
  std::string folder_;
};

TEST_F(TlsFilesTest, CertificatesOfTheCommandAreRead) {
  EXPECT_EQ(problem(), "none");
  EXPECT_TRUE(read_tls_files(files()).on());
}

TEST_F(TlsFilesTest, ADamagedFileIsNamed) {
  for (const char* file : {"ca.pem", "server.pem", "server.key"}) {
    fs::remove_all(folder_ + "/ours");
    make("ours");
    damage(file);
    EXPECT_THAT(problem(), StartsWith(path(file) + ": is damaged")) << file;
  }
}

TEST_F(TlsFilesTest, AKeyOfAnotherCertificateIsNamed) {
  fs::copy_file(path("worker.key"), path("server.key"), fs::copy_options::overwrite_existing);
  EXPECT_EQ(problem(), path("server.key") + ": is not the key of " + path("server.pem"));
}

TEST_F(TlsFilesTest, ACertificateOfAnotherAuthorityIsNamed) {
  make("other");
  copy_from("other", "server.pem");
  copy_from("other", "server.key");
  EXPECT_EQ(problem(),
            path("server.pem") + ": is not signed by the authority in " + path("ca.pem"));
}

TEST_F(TlsFilesTest, AnExpiredCertificateIsNamedWithItsDate) {
  fs::remove_all(folder_ + "/ours");
  make("ours", -1);
  EXPECT_THAT(problem(), AllOf(StartsWith(path("server.pem") + ": the certificate has expired on "),
                               ContainsRegex("on 20[0-9]+-[0-9]+-[0-9]+ [0-9]+:[0-9]+ GMT"),
                               HasSubstr("evener certs")));
}

TEST_F(TlsFilesTest, ACertificateIsForTheHostsThatItNames) {
  const std::string certificate = read_tls_files(files()).certificate;
  for (const char* host : {"node1", "10.0.0.1", "::1", "[::1]"}) {
    EXPECT_TRUE(is_certificate_for(certificate, host)) << host;
  }
  for (const char* host : {"node2", "10.0.0.2", "localhost", ""}) {
    EXPECT_FALSE(is_certificate_for(certificate, host)) << host;
  }
}

TEST_F(TlsFilesTest, AHostThatNoCertificateCanNameIsRefused) {
  const auto refusal = [&](const std::string& host) -> std::string {
    const std::string folder = folder_ + "/refused";
    try {
      make_certs({.folder = folder, .hosts = {"node1", host}});
    } catch (const UsageError& error) {
      EXPECT_FALSE(fs::exists(folder)) << host;
      return error.what();
    }
    fs::remove_all(folder);
    return "none";
  };
  EXPECT_EQ(refusal(""), "--hosts: a name is empty");
  EXPECT_EQ(refusal("node1:7070"), "--hosts: 'node1:7070' has a port: give only the host");
  EXPECT_EQ(refusal("[::1]:7070"), "--hosts: '[::1]:7070' has a port: give only the host");
  const std::string long_label(64, 'a');
  for (const std::string host :
       {"node 1", " node1", "node1,node2", "node1/", "a..b", "300.0.0.1", "10.0.0", "1:2:3", "*",
        "a.*", "n\x1b[31m", "\xc3\xa4", long_label.c_str()}) {
    EXPECT_THAT(refusal(host), HasSubstr("is neither a host name nor an address")) << host;
  }
  for (const char* host :
       {"node-1.example.org", "*.example.org", "my_host", "fe80::1", "10.0.0.1"}) {
    EXPECT_EQ(refusal(host), "none") << host;
  }
}

}  // namespace
}  // namespace evener
