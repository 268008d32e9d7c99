#include "evener/run/options/cluster_options.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "evener/cluster/transport/certs.h"
#include "evener/cluster/transport/tls_files.h"
#include "evener/core/error.h"

namespace evener {

namespace {

constexpr int kMostNodes = 4096;

int parse_count(std::string_view text, const std::string& whole) {
  int count = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (problem != std::errc() || end != text.data() + text.size() || count < 1 ||
      count > kMostNodes) {
    throw UsageError(
        fmt::format("--workers {}: give a number such as 4, or a range such as 2:8, at most {}",
                    whole, kMostNodes));
  }
  return count;
}

std::string host_of(const std::string& address) {
  return address.substr(0, address.rfind(':'));
}

bool is_loopback(const std::string& address) {
  const std::string host = host_of(address);
  return host == "localhost" || host == "[::1]" || host.rfind("127.", 0) == 0;
}

}  // namespace

void parse_worker_counts(const std::string& text, CoordinatorOptions& options) {
  const std::string_view whole = text;
  const std::size_t colon = whole.find(':');
  options.least = parse_count(whole.substr(0, colon), text);
  options.most =
      colon == std::string_view::npos ? options.least : parse_count(whole.substr(colon + 1), text);
  if (options.most < options.least) {
    throw UsageError(fmt::format("--workers {}: the second number is the smaller one", text));
  }
}

Tls read_tls(const std::string& folder, const std::string& role) {
  if (folder.empty()) return {};
  const auto path_of = [&](const std::string& name) {
    std::string path = folder + "/" + name;
    if (!std::filesystem::exists(path)) {
      throw UsageError(fmt::format(
          "--tls {}: there is no {} in it; copy it from the machine on which `evener certs` has "
          "made the files of all machines",
          folder, name));
    }
    return path;
  };
  return read_tls_files({path_of(kAuthorityFile), path_of(role + ".pem"), path_of(role + ".key")});
}

void check_certificate(const Tls& tls, const std::string& file, const std::string& option,
                       const std::string& address) {
  const std::string host = host_of(address);
  if (!tls.on() || is_certificate_for(tls.certificate, host)) return;
  throw UsageError(fmt::format(
      "{}: is not for {}, where others reach this process ({} {}): make certificates that name "
      "all machines with `evener certs --hosts`",
      file, host, option, address));
}

std::string connection_text(const ClusterOptions& cluster) {
  std::string text;
  if (!cluster.listen.empty()) text += " --listen " + cluster.listen;
  if (!cluster.tls.empty()) text += " --tls " + cluster.tls;
  if (cluster.insecure) text += " --insecure";
  if (!cluster.token.empty()) text += " --token ...";
  if (!cluster.token_file.empty()) text += " --token-file " + cluster.token_file;
  if (cluster.wait_seconds != ClusterOptions{}.wait_seconds) {
    text += fmt::format(" --wait-seconds {:g}", cluster.wait_seconds);
  }
  return text;
}

void check_listening(const std::string& address, const Tls& tls, bool insecure) {
  if (is_loopback(address) || tls.on() || insecure) return;
  throw UsageError(fmt::format(
      "--listen {}: others could join and read without TLS; give --tls FOLDER (`evener certs "
      "FOLDER` makes it), or --insecure",
      address));
}

void check_address(const std::string& option, const std::string& address) {
  const std::size_t colon = address.rfind(':');
  int port = -1;
  if (colon != std::string::npos && colon > 0) {
    const char* end = address.data() + address.size();
    const auto [stop, problem] = std::from_chars(address.data() + colon + 1, end, port);
    if (problem != std::errc() || stop != end) port = -1;
  }
  const std::string host = address.substr(0, std::min(colon, address.size()));
  if (host.find(':') != std::string::npos && (host.front() != '[' || host.back() != ']')) {
    throw UsageError(fmt::format("{} {}: put an IPv6 address into brackets, such as [::1]:7070",
                                 option, address));
  }
  if (port >= 0 && port <= 65535) return;
  throw UsageError(fmt::format("{} {}: give HOST:PORT, such as 127.0.0.1:7070", option, address));
}

HeartbeatLimits heartbeat_limits(const ClusterOptions& options) {
  const HeartbeatLimits limits{options.heartbeat, options.suspect, options.evict};
  if (limits.beat < limits.suspect && limits.suspect <= limits.evict) return limits;
  throw UsageError(
      fmt::format("--heartbeat {:g} --suspect {:g} --evict {:g}: each must be more than the one "
                  "before",
                  limits.beat, limits.suspect, limits.evict));
}

std::vector<std::string> peer_addresses(const ClusterOptions& options) {
  std::vector<std::string> addresses;
  for (std::size_t at = 0; at <= options.peers.size();) {
    const std::size_t comma = std::min(options.peers.find(',', at), options.peers.size());
    const std::string address = options.peers.substr(at, comma - at);
    check_address("--peers", address);
    if (std::find(addresses.begin(), addresses.end(), address) != addresses.end()) {
      throw UsageError(fmt::format("--peers: {} is named twice", address));
    }
    addresses.push_back(address);
    at = comma + 1;
  }
  return addresses;
}

}  // namespace evener
