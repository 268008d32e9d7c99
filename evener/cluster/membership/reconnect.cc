#include "evener/cluster/membership/reconnect.h"

#include <algorithm>
#include <array>

namespace evener {

namespace {

template <std::size_t N>
bool has_one_of(const std::string& why, const std::array<const char*, N>& texts) {
  return std::any_of(texts.begin(), texts.end(),
                     [&](const char* text) { return why.find(text) != std::string::npos; });
}

constexpr std::array kOtherHost{"Peer name", "not in peer certificate"};
constexpr std::array kExpired{"certificate expired", "certificate has expired"};
constexpr std::array kTls{"Ssl handshake", "SSL", "asn1", "certificate", "Peer name"};
constexpr std::array kCut{"Socket closed", "Connection reset"};

}  // namespace

bool is_certificate_problem(const std::string& why) {
  return has_one_of(why, kTls);
}

std::string with_hint(const std::string& why) {
  if (has_one_of(why, kOtherHost)) {
    return why + " (make certificates for that name: evener certs --hosts)";
  }
  if (has_one_of(why, kExpired)) return why + " (make new certificates: evener certs)";
  if (is_certificate_problem(why)) {
    return why +
           " (are the certificates of --tls on both sides of one authority, and still valid?)";
  }
  if (has_one_of(why, kCut)) return why + " (does one side use --tls and the other not?)";
  return why;
}

}  // namespace evener
