// What comes in from gossiping peers, taken apart by the transport's threads, and what is kept of
// each.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <xxhash.h>

#include "evener/cluster/gossip_peer.h"
#include "evener/cluster/inbox.h"
#include "evener/cluster/parcel_format.h"
#include "evener/cluster/wire.h"
#include "evener/core/finite.h"
#include "evener/runtime/parcel.h"

namespace evener {

struct PeerMail {
  enum class Kind {
    greeting,
    refusal,        // of one that greets, by this one
    refused_there,  // this one, by another
    letter,
    part_of_letter,
    pulse,
    farewell,
    link_down,
    enquiry
  };
  Kind kind = Kind::pulse;
  int from = -1;
  std::uint64_t incarnation = 0;  // of who says it
  wire::Greeting greeting{};
  wire::Enquiry enquiry{};
  std::shared_ptr<Channel> channel{};  // of who enquires or greets
  wire::PeerLetter letter{};
  Parcel parcel{};
  std::vector<std::uint64_t> steps{};
  wire::Pulse pulse{};
  std::string why{};  // of a refusal or a farewell; of a letter: not empty, it cannot be used
};
using PeerMailbox = Mailbox<PeerMail>;

/// Equal where both name the same addresses in the same order.
inline std::uint64_t checksum_of(const std::vector<std::string>& addresses) {
  const std::string all = fmt::format("{}", fmt::join(addresses, ","));
  return XXH3_64bits(all.data(), all.size());
}

/// What a peer says first.
inline wire::Head greeting_of(const GossipPeerOptions& options, const GossipWork& work,
                              std::uint64_t incarnation, Seconds age) {
  wire::Head head;
  wire::Greeting& greeting = *head.mutable_greeting();
  greeting.set_protocol(kProtocol);
  greeting.set_token(options.token);
  greeting.set_rank(static_cast<std::uint32_t>(options.self));
  greeting.set_peers(static_cast<std::uint32_t>(options.addresses.size()));
  greeting.set_incarnation(incarnation);
  greeting.set_list(checksum_of(options.addresses));
  greeting.set_age(age);
  set_print(work.data, *greeting.mutable_data());
  greeting.mutable_options()->insert(work.options.begin(), work.options.end());
  return head;
}
/// Why one that greets or enquires is a stranger; empty: it is not.
template <class Words>
std::string why_strange(const Words& words, const GossipPeerOptions& options) {
  if (words.protocol() != kProtocol) {
    return fmt::format("it speaks version {} of the protocol, this is version {}", words.protocol(),
                       kProtocol);
  }
  if (words.token() != options.token) return "it does not know the token";
  const bool same_list =
      words.peers() == options.addresses.size() && words.list() == checksum_of(options.addresses);
  return same_list ? "" : "its list of --peers is another";
}
/// Why one that greets is not let in; empty: it is.
inline std::string why_refused(const wire::Greeting& greeting, const GossipPeerOptions& options,
                               const GossipWork& work) {
  if (std::string why = why_strange(greeting, options); !why.empty()) return why;
  if (print_of(greeting.data()) != work.data) return "its data is not the data of the run";
  for (const auto& [name, text] : work.options) {
    const auto found = greeting.options().find(name);
    const std::string its = found == greeting.options().end() ? "missing" : found->second;
    if (its != text) return fmt::format("its --{} is {}, here it is {}", name, its, text);
  }
  return "";
}

/// Why a letter cannot be used for what it says it is; empty: it can.
inline std::string why_useless(const PeerMail& mail, const ParcelMap& map, bool push_sum) {
  using Wire = wire::PeerLetter;
  const Parcel& parcel = mail.parcel;
  const bool all = parcel.places == Parcel::Places::all && parcel.values.size() == map.size();
  switch (mail.letter.kind()) {
    case Wire::OFFER:
      if (push_sum && !all) return "a part of a model, where a share of all of it is given away";
      if (parcel.values.empty() || parcel.places == Parcel::Places::offered) return "no offer";
      return "";
    case Wire::REPLY:
      return push_sum || parcel.places == Parcel::Places::offered ? "" : "no reply";
    case Wire::MODEL:
    case Wire::FINAL:
      return all ? "" : "a part of a model, where all of it is meant";
    default:
      return "";
  }
}

/// A peer that has connected to this one, and sends.
class PeerGuest final : public Handler {
 public:
  /// Why a greeting is refused; empty: it is not.
  using Check = std::function<std::string(const wire::Greeting&)>;

  /// All outlive it.
  PeerGuest(std::shared_ptr<Channel> channel, PeerMailbox& mail, const ParcelMap& map, Check check)
      : channel_(std::move(channel)), mail_(mail), map_(map), check_(std::move(check)) {}

  void received(Message message) override {
    const wire::Head head = head_of(message);
    if (head.has_greeting()) {
      PeerMail mail{.kind = PeerMail::Kind::greeting,
                    .from = static_cast<int>(head.greeting().rank()),
                    .incarnation = head.greeting().incarnation(),
                    .greeting = head.greeting(),
                    .channel = channel_,
                    .why = check_(head.greeting())};
      if (!mail.why.empty()) mail.kind = PeerMail::Kind::refusal;
      from_ = mail.why.empty() ? mail.from : -1;
      incarnation_ = mail.incarnation;
      mail_.put(std::move(mail));
      return;
    }
    if (head.has_enquiry()) {
      return mail_.put({.kind = PeerMail::Kind::enquiry,
                        .from = static_cast<int>(head.enquiry().rank()),
                        .enquiry = head.enquiry(),
                        .channel = channel_});
    }
    if (from_ < 0 && incarnation_ == 0) throw Error("it has not said who it is");
    if (from_ < 0) return;  // it was refused, and is told so
    if (head.has_pulse()) {
      mail_.put({.kind = PeerMail::Kind::pulse,
                 .from = from_,
                 .incarnation = incarnation_,
                 .steps = {head.pulse().steps().begin(), head.pulse().steps().end()},
                 .pulse = head.pulse()});
    }
    if (head.has_farewell()) {
      mail_.put({.kind = PeerMail::Kind::farewell,
                 .from = from_,
                 .incarnation = incarnation_,
                 .why = head.farewell().why()});
    }
    if (head.has_letter()) {
      letter_ = head.letter();
      reader_.reset();
      if (letter_.parcel().bytes() == 0) return deliver({}, "");
      reader_.emplace(map_, header_of(letter_.parcel()));
    }
    if (!head.has_chunk() || !reader_) return;
    // A long letter holds up the pulses behind it.
    mail_.put({.kind = PeerMail::Kind::part_of_letter, .from = from_, .incarnation = incarnation_});
    if (reader_->feed(head.chunk().offset(), message)) {
      Parcel parcel = reader_->parcel();
      reader_.reset();
      const bool finite = all_finite(parcel.values);
      deliver(std::move(parcel), finite ? "" : "numbers that are not finite");
    }
  }
  /// It may come back; its silence tells otherwise.
  void ended(const std::string& /*why*/) override {}

 private:
  void deliver(Parcel parcel, const std::string& why) {
    parcel.weight = letter_.weight();
    mail_.put({.kind = PeerMail::Kind::letter,
               .from = from_,
               .incarnation = incarnation_,
               .letter = letter_,
               .parcel = std::move(parcel),
               .steps = {letter_.steps().begin(), letter_.steps().end()},
               .why = why});
  }

  std::shared_ptr<Channel> channel_;
  PeerMailbox& mail_;
  const ParcelMap& map_;
  Check check_;
  int from_ = -1;                  // who is let in
  std::uint64_t incarnation_ = 0;  // of who has greeted
  wire::PeerLetter letter_;
  std::optional<ParcelReader> reader_;
};

/// The connection to a peer, which says nothing on it but that this one is refused.
class PeerLink final : public Handler {
 public:
  PeerLink(PeerMailbox& mail, int to) : mail_(mail), to_(to) {}
  void received(Message message) override {
    const wire::Head head = head_of(message);
    if (!head.has_refusal() || head.refusal().later()) return;
    mail_.put({.kind = PeerMail::Kind::refused_there, .from = to_, .why = head.refusal().why()});
  }
  void ended(const std::string& why) override {
    mail_.put({.kind = PeerMail::Kind::link_down, .from = to_, .why = why});
  }

 private:
  PeerMailbox& mail_;
  int to_;
};

}  // namespace evener
