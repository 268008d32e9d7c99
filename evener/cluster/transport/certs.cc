#include "evener/cluster/transport/certs.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "evener/core/error.h"
#include "evener/core/file.h"
#include "evener/core/printable.h"

namespace evener {

namespace {

namespace fs = std::filesystem;

template <auto F>
struct Free {
  template <class T>
  void operator()(T* object) const {
    F(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Bio = std::unique_ptr<BIO, Free<BIO_free_all>>;

void check(bool ok) {
  if (!ok) throw Error("OpenSSL could not make a certificate");
}

Key make_key() {
  Key key(EVP_EC_gen("P-256"));
  check(key != nullptr);
  return key;
}

void add_extension(X509& certificate, X509& issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  check(extension != nullptr && X509_add_ext(&certificate, extension.get(), -1) == 1);
}

struct Args {
  std::string name;
  std::string usage;     // of the key, as OpenSSL names it; empty: an authority
  std::string subjects;  // alternative names; empty: none
};

/// Signed by the issuer, or by itself where there is none.
Certificate make_certificate(const Args& args, EVP_PKEY& key, X509* issuer, EVP_PKEY& issuer_key,
                             int days) {
  Certificate certificate(X509_new());
  X509& x = *certificate;
  check(X509_set_version(&x, 2) == 1);
  std::uint64_t serial = 0;
  check(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1);  // NOLINT
  check(ASN1_INTEGER_set_uint64(X509_get_serialNumber(&x), serial >> 1) == 1);
  constexpr long kDay = 24L * 60 * 60, kHour = 60L * 60;
  X509_gmtime_adj(X509_getm_notBefore(&x), -kHour);  // clocks differ
  X509_gmtime_adj(X509_getm_notAfter(&x), days * kDay);
  check(X509_set_pubkey(&x, &key) == 1);
  X509_NAME* name = X509_get_subject_name(&x);
  const auto* text = reinterpret_cast<const unsigned char*>(args.name.c_str());  // NOLINT
  check(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, text, -1, -1, 0) == 1);
  X509& by = issuer != nullptr ? *issuer : x;
  check(X509_set_issuer_name(&x, X509_get_subject_name(&by)) == 1);
  if (args.usage.empty()) {
    add_extension(x, by, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(x, by, NID_key_usage, "critical,keyCertSign,cRLSign");
  } else {
    add_extension(x, by, NID_basic_constraints, "critical,CA:FALSE");
    add_extension(x, by, NID_key_usage, "critical,digitalSignature");
    add_extension(x, by, NID_ext_key_usage, args.usage);
  }
  if (!args.subjects.empty()) add_extension(x, by, NID_subject_alt_name, args.subjects);
  check(X509_sign(&x, &issuer_key, EVP_sha256()) > 0);
  return certificate;
}

template <class F>
void write_pem(const std::string& path, Readers readers, F write) {
  const Bio bio(BIO_new(BIO_s_mem()));
  check(bio != nullptr && write(bio.get()) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  write_atomically(path, std::as_bytes(std::span(data, static_cast<std::size_t>(size))), readers);
}

void write_certificate(const std::string& path, X509& certificate) {
  write_pem(path, Readers::anyone, [&](BIO* bio) { return PEM_write_bio_X509(bio, &certificate); });
}

void write_key(const std::string& path, EVP_PKEY& key) {
  write_pem(path, Readers::owner, [&](BIO* bio) {
    return PEM_write_bio_PrivateKey(bio, &key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

std::string subjects_of(const std::vector<std::string>& hosts) {
  std::string text;
  for (const auto& host : hosts) {
    const bool address = host.find(':') != std::string::npos ||
                         host.find_first_not_of("0123456789.") == std::string::npos;
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", address ? "IP" : "DNS", host);
  }
  return text;
}

bool is_address(int family, const std::string& text) {
  in6_addr ignored{};  // the larger of the two
  return inet_pton(family, text.c_str(), &ignored) == 1;
}

/// A name of the domain name system; its first label may be a `*`.
bool is_host_name(const std::string& text) {
  constexpr std::size_t kMostName = 253, kMostLabel = 63;
  if (text.size() > kMostName) return false;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t dot = std::min(text.find('.', at), text.size());
    const std::string label = text.substr(at, dot - at);
    const bool any = label == "*" && at == 0 && dot < text.size();
    const bool plain = std::all_of(label.begin(), label.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '-' || c == '_';
    });
    if (label.empty() || label.size() > kMostLabel || !(any || plain)) return false;
    at = dot + 1;
  }
  return true;
}

/// Empty: it can be in a certificate.
std::string why_no_host(const std::string& host) {
  const std::size_t colon = host.find(':');
  const bool one_colon = colon != std::string::npos && colon == host.rfind(':');
  if (host.empty()) return "a name is empty";
  if (one_colon || (host.front() == '[' && host.back() != ']')) {
    return fmt::format("'{}' has a port: give only the host", printable(host));
  }
  const bool digits = host.find_first_not_of("0123456789.") == std::string::npos;
  const bool good = colon != std::string::npos ? is_address(AF_INET6, host)
                    : digits                   ? is_address(AF_INET, host)
                                               : is_host_name(host);
  return good ? "" : fmt::format("'{}' is neither a host name nor an address", printable(host));
}

}  // namespace

void make_certs(const CertsOptions& options) {
  for (const auto& host : options.hosts) {
    if (const std::string why = why_no_host(host); !why.empty()) {
      throw UsageError("--hosts: " + why);
    }
  }
  const std::string authority_path = options.folder + "/" + kAuthorityFile;
  if (fs::exists(authority_path)) {
    throw UsageError(options.folder + ": has an authority already; choose another folder");
  }
  fs::create_directories(options.folder);
  const Key authority_key = make_key();
  const Certificate authority = make_certificate({"evener authority", "", ""}, *authority_key,
                                                 nullptr, *authority_key, options.days);
  for (const Args& args : {Args{"coordinator", "serverAuth", subjects_of(options.hosts)},
                           Args{"server", "serverAuth,clientAuth", subjects_of(options.hosts)},
                           Args{"worker", "clientAuth", ""}}) {
    const Key key = make_key();
    const Certificate certificate =
        make_certificate(args, *key, authority.get(), *authority_key, options.days);
    write_key(options.folder + "/" + args.name + ".key", *key);
    write_certificate(options.folder + "/" + args.name + ".pem", *certificate);
  }
  write_certificate(authority_path, *authority);  // last: where this file exists, all others do
}

}  // namespace evener
