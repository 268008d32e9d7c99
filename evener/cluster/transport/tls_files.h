// Certificates and keys in files, checked before anything listens or connects. gRPC would only
// report a failed handshake.
#pragma once

#include <string>

#include "evener/cluster/transport/transport.h"

namespace evener {

struct TlsFiles {
  std::string authority, certificate, key;  // paths
};

/// Error with the path of a file that is damaged, of a certificate that is not valid now or not of
/// the authority, or of a key that is not that of the certificate.
Tls read_tls_files(const TlsFiles& files);

/// Whether the certificate, a PEM text, is for this host: a name, or an address without a port.
bool is_certificate_for(const std::string& certificate, const std::string& host);

}  // namespace evener
