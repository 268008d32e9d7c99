#include "evener/cluster/transport/tls_files.h"

#include <ctime>
#include <memory>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "evener/core/error.h"
#include "evener/core/file.h"

namespace evener {

namespace {

template <auto F>
struct Release {
  template <class T>
  void operator()(T* object) const {
    F(object);
  }
};
template <class T, auto F>
using Owned = std::unique_ptr<T, Release<F>>;
using OwnedX509 = Owned<X509, X509_free>;
using OwnedBio = Owned<BIO, BIO_free_all>;

[[noreturn]] void refuse_file(const std::string& path, const std::string& why) {
  ERR_clear_error();
  throw Error(path + ": " + why);
}

std::string text_of_file(const std::string& path) {
  const MappedFile file(path);
  const auto bytes = file.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};  // NOLINT
}

OwnedBio reader_of(const std::string& pem) {
  return OwnedBio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

/// All certificates of the text, in their order.
std::vector<OwnedX509> certificates_in(const std::string& pem) {
  const OwnedBio bio = reader_of(pem);
  std::vector<OwnedX509> found;
  while (X509* one = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    found.emplace_back(one);
  }
  ERR_clear_error();  // the end of the text is an error
  return found;
}

std::vector<OwnedX509> certificates_of_file(const std::string& path, const std::string& pem) {
  auto found = certificates_in(pem);
  if (found.empty()) refuse_file(path, "is damaged: it holds no certificate in PEM format");
  return found;
}

std::string date_of(const ASN1_TIME* time) {
  std::tm parts{};
  ASN1_TIME_to_tm(time, &parts);
  return fmt::format("{:%Y-%m-%d %H:%M} GMT", parts);
}

/// Empty: it is valid now.
std::string why_invalid_now(const X509& certificate) {
  const ASN1_TIME* end = X509_get0_notAfter(&certificate);
  if (X509_cmp_current_time(end) < 0) {
    return fmt::format("the certificate has expired on {}: make new ones with `evener certs`",
                       date_of(end));
  }
  const ASN1_TIME* begin = X509_get0_notBefore(&certificate);
  if (X509_cmp_current_time(begin) > 0) {
    return fmt::format(
        "the certificate is not valid before {}: is the clock of this machine right?",
        date_of(begin));
  }
  return "";
}

/// Without this, OpenSSL asks for the password on the terminal.
int no_password(char* /*buffer*/, int /*size*/, int /*writes*/, void* /*data*/) {
  return -1;
}

void check_key(const TlsFiles& files, const std::string& pem, const X509& certificate) {
  const OwnedBio bio = reader_of(pem);
  const Owned<EVP_PKEY, EVP_PKEY_free> key(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  if (!key) {
    refuse_file(files.key, "is damaged: it holds no private key in PEM format without a password");
  }
  if (X509_check_private_key(&certificate, key.get()) != 1) {
    refuse_file(files.key, fmt::format("is not the key of {}", files.certificate));
  }
}

/// Whether OpenSSL finds a chain of signatures to an authority. Other rules are left to gRPC.
bool is_signed(X509& certificate, const std::vector<OwnedX509>& chain,
               const std::vector<OwnedX509>& authorities) {
  const Owned<X509_STORE, X509_STORE_free> store(X509_STORE_new());
  for (const auto& authority : authorities) X509_STORE_add_cert(store.get(), authority.get());
  const auto free_list = [](STACK_OF(X509) * list) { sk_X509_free(list); };
  const std::unique_ptr<STACK_OF(X509), decltype(free_list)> others(sk_X509_new_null(), free_list);
  for (const auto& one : chain) sk_X509_push(others.get(), one.get());
  const Owned<X509_STORE_CTX, X509_STORE_CTX_free> context(X509_STORE_CTX_new());
  X509_STORE_CTX_init(context.get(), store.get(), &certificate, others.get());
  X509_STORE_CTX_set_flags(context.get(), X509_V_FLAG_NO_CHECK_TIME);
  const bool valid = X509_verify_cert(context.get()) == 1;
  const int problem = X509_STORE_CTX_get_error(context.get());
  ERR_clear_error();
  return valid || (problem != X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY &&
                   problem != X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE &&
                   problem != X509_V_ERR_CERT_SIGNATURE_FAILURE &&
                   problem != X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN &&
                   problem != X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT);
}

}  // namespace

Tls read_tls_files(const TlsFiles& files) {
  Tls tls{text_of_file(files.authority), text_of_file(files.certificate), text_of_file(files.key)};
  const auto authorities = certificates_of_file(files.authority, tls.authority);
  const auto chain = certificates_of_file(files.certificate, tls.certificate);
  X509& own = *chain.front();
  check_key(files, tls.key, own);
  if (const std::string why = why_invalid_now(own); !why.empty()) {
    refuse_file(files.certificate, why);
  }
  if (!is_signed(own, chain, authorities)) {
    refuse_file(files.certificate,
                fmt::format("is not signed by the authority in {}", files.authority));
  }
  // With several authorities, one that has expired may be unused.
  if (const std::string why = why_invalid_now(*authorities.front());
      authorities.size() == 1 && !why.empty()) {
    refuse_file(files.authority, why);
  }
  return tls;
}

bool is_certificate_for(const std::string& certificate, const std::string& host) {
  const auto found = certificates_in(certificate);
  if (found.empty()) return false;
  const bool in_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  const std::string name = in_brackets ? host.substr(1, host.size() - 2) : host;
  const bool fits = X509_check_ip_asc(found.front().get(), name.c_str(), 0) == 1 ||
                    X509_check_host(found.front().get(), name.data(), name.size(), 0, nullptr) == 1;
  ERR_clear_error();
  return fits;
}

}  // namespace evener
