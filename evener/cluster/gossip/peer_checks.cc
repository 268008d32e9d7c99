#include "evener/cluster/gossip/peer_checks.h"

#include <cmath>

#include <fmt/format.h>
#include <xxhash.h>

namespace evener {

namespace {

/// What a hello and a join request have in common.
template <class Request>
std::string why_not_of_this_group(const Request& request, const GossipPeerOptions& options) {
  if (request.protocol() != kProtocol) {
    return fmt::format("it has version {} of the protocol, this is version {}", request.protocol(),
                       kProtocol);
  }
  if (request.token() != options.token) return "it does not know the token";
  const bool same_list = request.peers() == options.addresses.size() &&
                         request.list() == checksum_of(options.addresses);
  return same_list ? "" : "its list of --peers is another";
}

}  // namespace

std::uint64_t checksum_of(const std::vector<std::string>& addresses) {
  const std::string all = fmt::format("{}", fmt::join(addresses, ","));
  return XXH3_64bits(all.data(), all.size());
}

wire::Head hello_of(const GossipPeerOptions& options, const GossipWork& work,
                    std::uint64_t incarnation, Seconds age) {
  wire::Head head;
  wire::PeerHello& hello = *head.mutable_peer_hello();
  hello.set_protocol(kProtocol);
  hello.set_token(options.token);
  hello.set_rank(static_cast<std::uint32_t>(options.self));
  hello.set_peers(static_cast<std::uint32_t>(options.addresses.size()));
  hello.set_incarnation(incarnation);
  hello.set_list(checksum_of(options.addresses));
  hello.set_age(age);
  set_fingerprint(work.data, *hello.mutable_data());
  hello.mutable_options()->insert(work.options.begin(), work.options.end());
  return head;
}

std::string why_refused(const wire::JoinRequest& request, const GossipPeerOptions& options) {
  std::string why = why_not_of_this_group(request, options);
  if (why.empty() && request.rank() >= options.addresses.size()) {
    why = fmt::format("there is no peer {}", request.rank());
  }
  return why;
}

std::string why_refused(const wire::PeerHello& hello, const GossipPeerOptions& options,
                        const GossipWork& work) {
  if (std::string why = why_not_of_this_group(hello, options); !why.empty()) return why;
  if (fingerprint_of(hello.data()) != work.data) return "its data is not the data of the run";
  for (const auto& [name, text] : work.options) {
    const auto found = hello.options().find(name);
    const std::string its = found == hello.options().end() ? "missing" : found->second;
    if (its != text) return fmt::format("its --{} is {}, here it is {}", name, its, text);
  }
  return "";
}

std::string why_unusable(const PeerEvent& event, const ModelUpdateLayout& layout, bool push_sum) {
  using Wire = wire::GossipMessage;
  using Places = ModelUpdate::Places;
  const ModelUpdate& update = event.update;
  const bool all = update.places == Places::all && update.values.size() == layout.size();
  const bool weighs = std::isfinite(update.weight) && update.weight > 0;
  switch (event.message.kind()) {
    case Wire::OFFER:
      if (push_sum && !all) return "a part of a model in an offer of push-sum";
      if (push_sum && !weighs) return "an offer of push-sum without a positive weight";
      if (update.values.empty() || update.places == Places::offered) return "no offer";
      return "";
    case Wire::REPLY:
      return push_sum || update.places == Places::offered ? "" : "no reply";
    case Wire::FINAL:
      if (all && !weighs) return "a final model without a positive weight";
      [[fallthrough]];
    case Wire::MODEL:
      return all ? "" : "a part of a model instead of all of it";
    default:
      return "";
  }
}

}  // namespace evener
