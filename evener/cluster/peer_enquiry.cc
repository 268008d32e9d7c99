#include "evener/cluster/peer_enquiry.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "evener/cluster/inbox.h"
#include "evener/cluster/peer_mail.h"
#include "evener/cluster/visits.h"
#include "evener/cluster/wire.h"

namespace evener {

namespace {

// By then it is known of each whether it is there, also of one that has just died.
constexpr Seconds kSoon = 2;

struct Asked {
  std::shared_ptr<Channel> channel;  // null: to be asked, or once more
  Seconds retry_at = 0;
};

Message enquiry_of(const GossipPeerOptions& options) {
  wire::Head head;
  wire::Enquiry& enquiry = *head.mutable_enquiry();
  enquiry.set_protocol(kProtocol);
  enquiry.set_token(options.token);
  enquiry.set_rank(static_cast<std::uint32_t>(options.self));
  enquiry.set_peers(static_cast<std::uint32_t>(options.addresses.size()));
  enquiry.set_list(checksum_of(options.addresses));
  return message_of(head);
}

}  // namespace

Job ask_peers(const GossipPeerOptions& options) {
  MailQueue queue;
  std::vector<Asked> asked(
      options.addresses.size());  // its own place too: who answers there has it
  std::string why = "nobody has answered yet";
  bool told = false;
  for (const Stopwatch clock; clock.elapsed() < options.patience;) {
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (asked[i].channel || clock.elapsed() < asked[i].retry_at) continue;
      asked[i].retry_at = clock.elapsed() + kPause;
      asked[i].channel = options.transport->connect(
          options.addresses[i], std::make_shared<Inbox>(queue, static_cast<int>(i)));
      asked[i].channel->send(enquiry_of(options));
    }
    const auto mail = queue.get_within(kLook);
    if (!mail) continue;
    if (const std::string* end = mail->end()) {
      asked[static_cast<std::size_t>(mail->from)].channel.reset();
      if (mail->from == options.self) continue;
      why = fmt::format("peer {}: {}", mail->from, with_hint(*end));
      if (clock.elapsed() > kSoon && !std::exchange(told, true)) {
        options.say(why + "; asking all of --peers again and again");
      }
      continue;
    }
    const wire::Head head = head_of(mail->message());
    if (head.has_refusal() && head.refusal().later() && clock.elapsed() < kSoon) {
      Asked& once_more = asked[static_cast<std::size_t>(mail->from)];
      why = fmt::format("peer {}: {}", mail->from, head.refusal().why());
      once_more.channel.reset();
      once_more.retry_at = clock.elapsed() + kPause;
      continue;
    }
    if (head.has_refusal()) {
      throw Error(fmt::format("peer {} refuses this one: {}", mail->from, head.refusal().why()));
    }
    if (head.has_welcome()) return job_of(head.welcome());
  }
  throw Error(fmt::format(
      "no peer has answered for {:g} s, and this one names no data or recipe of its own: start the "
      "first ones with `evener train DATA --peers ...`, or wait longer with --wait-seconds ({})",
      options.patience, why));
}

}  // namespace evener
