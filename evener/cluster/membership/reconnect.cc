#include "evener/cluster/membership/reconnect.h"

namespace evener {

std::string with_hint(const std::string& why) {
  const auto has = [&](const char* text) { return why.find(text) != std::string::npos; };
  if (has("Peer name") || has("not in peer certificate")) {
    return why + " (make certificates for that name: evener certs --hosts)";
  }
  if (has("Ssl handshake") || has("SSL") || has("asn1") || has("certificate")) {
    return why + " (are the certificates of --tls of one authority on both sides?)";
  }
  if (has("Socket closed") || has("Connection reset")) {
    return why + " (does one side use --tls and the other not?)";
  }
  return why;
}

}  // namespace evener
