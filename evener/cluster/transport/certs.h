// A small certificate authority for mutual TLS: for tests, and for clusters that have none.
#pragma once

#include <string>
#include <vector>

namespace evener {

inline constexpr const char* kAuthorityFile = "ca.pem";

struct CertsOptions {
  std::string folder;
  std::vector<std::string> hosts{"localhost",
                                 "127.0.0.1"};  // names and addresses of the coordinator
  int days = 365;
};

/// Writes ca.pem, and .pem and .key of coordinator, server and worker. Only the user can read keys.
/// The authority's own key is not kept, so no certificate can be added later. UsageError where the
/// folder has an authority already.
void make_certs(const CertsOptions& options);

}  // namespace evener
