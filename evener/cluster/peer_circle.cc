#include "evener/cluster/peer_circle.h"

#include <algorithm>
#include <random>
#include <utility>

#include <fmt/format.h>

namespace evener {

PeerCircle::PeerCircle(const GossipPeerOptions& options, const GossipWork& work,
                       const ParcelMap& map, std::vector<std::uint64_t>& steps, Events events)
    : options_(options),
      work_(work),
      steps_(steps),
      events_(std::move(events)),
      others_(options.addresses.size()),
      incarnation_(std::random_device{}()) {
  const std::string& own = options.addresses.at(static_cast<std::size_t>(options.self));
  listener_ = options.transport->listen(options.listen.empty() ? own : options.listen,
                                        [this, &map](std::shared_ptr<Channel> channel) {
                                          return std::make_shared<PeerGuest>(
                                              std::move(channel), mail_, map,
                                              [this](const wire::Greeting& greeting) {
                                                return why_refused(greeting, options_, work_);
                                              });
                                        });
}

PeerCircle::~PeerCircle() {
  for (auto& other : others_) other.channel.reset();
  listener_.reset();
}

int PeerCircle::greeted() const {
  return static_cast<int>(std::count_if(others_.begin(), others_.end(),
                                        [](const Other& other) { return other.greeted; }));
}

bool PeerCircle::complete() const {
  const Other* self = &others_[static_cast<std::size_t>(options_.self)];
  return std::all_of(others_.begin(), others_.end(), [&](const Other& other) {
    return &other == self || (other.greeted && static_cast<int>(other.pulse.sees()) == count() - 1);
  });
}

void PeerCircle::hear(Seconds wait) {
  connect_missing();
  beat();
  for (auto mail = mail_.get_within(wait); mail; mail = mail_.get_within(0)) take(*mail);
  for (int i = 0; i < count(); ++i) {
    const Other& other = at(i);
    if (!other.greeted) continue;
    const Seconds most =
        (other.broken ? std::min(kBroken, options_.silence) : options_.silence) + allowance(other);
    if (now() - other.heard < most) continue;
    // Who has told its last model may go.
    const Seconds silence = now() - other.heard;
    lose(i, false, other.final_model ? "" : fmt::format(": no sign of life for {:.0f} s", silence));
  }
}

void PeerCircle::lose(int peer, bool for_good, const std::string& how) {
  at(peer).greeted = false;
  events_.went(peer, for_good);
  if (!how.empty()) options_.say(fmt::format("peer {}{}", peer, how));
}

void PeerCircle::leave(const std::string& why) {
  left_ = true;
  wire::Head head;
  head.mutable_farewell()->set_why(why);
  for (auto& other : others_) {
    if (other.channel) other.channel->send(message_of(head));
  }
}

void PeerCircle::has_trained() {
  if (trained_++ == 0) begun_ = now();
}

void PeerCircle::has_all() {
  if (std::exchange(has_all_, true)) return;
  beaten_ = -1;
  beat();
}

void PeerCircle::was_busy(Seconds seconds) {
  busy_ = std::max(busy_, seconds);
}

void PeerCircle::connect_missing() {
  if (left_) return;
  for (int i = 0; i < count(); ++i) {
    Other& other = at(i);
    if (i == options_.self || other.channel || now() < other.retry_at) continue;
    // At the start everybody waits for everybody.
    other.retry_at = now() + (busy_ == 0 ? kPause / 5 : kPause);
    other.channel = options_.transport->connect(options_.addresses[static_cast<std::size_t>(i)],
                                                std::make_shared<PeerLink>(mail_, i));
    other.channel->send(message_of(greeting_of(options_, work_, incarnation_, now())));
    send_pulse(other);
  }
}

void PeerCircle::beat() {
  if (left_ || now() - beaten_ < kBeat) return;
  beaten_ = now();
  for (auto& other : others_) send_pulse(other);
}

void PeerCircle::send_pulse(Other& other) {
  if (!other.channel) return;
  wire::Head head;
  wire::Pulse& pulse = *head.mutable_pulse();
  pulse.set_sees(static_cast<std::uint32_t>(greeted()));
  pulse.set_busy(busy_);
  pulse.set_trained(trained_);
  if (trained_ > 0) pulse.set_training(now() - begun_);
  pulse.set_has_all(has_all_);
  for (const std::uint64_t steps : steps_) pulse.add_steps(steps);
  other.channel->send(message_of(head));
}

void PeerCircle::take(PeerMail& mail) {
  if (mail.kind == PeerMail::Kind::enquiry) return tell_job(mail);
  if (mail.from < 0 || mail.from >= count() || mail.from == options_.self) return;
  Other& other = at(mail.from);
  switch (mail.kind) {
    case PeerMail::Kind::link_down:
      if (other.refused == 0) why_alone_ = fmt::format("peer {}: {}", mail.from, mail.why);
      other.channel.reset();
      other.told = false;
      other.broken = other.cut = true;
      return;
    case PeerMail::Kind::refusal:
      return refuse(mail, mail.why);
    case PeerMail::Kind::refused_there:
      other.refuses = mail.why;
      return check_refusals();
    case PeerMail::Kind::greeting:
      return greet(mail);
    case PeerMail::Kind::farewell:
      if (mail.incarnation != other.incarnation) return;
      other.left = true;
      if (other.greeted) lose(mail.from, true, " has left: " + mail.why);
      return;
    case PeerMail::Kind::pulse:
    case PeerMail::Kind::letter:
    case PeerMail::Kind::part_of_letter:
    case PeerMail::Kind::enquiry:
      break;
  }
  if (mail.incarnation != other.incarnation) return;  // one that was not let in, or has gone
  if (other.left) return;  // it only brings to an end what others have begun
  if (!other.greeted) come_back(mail.from);
  other.heard = now();
  other.broken = false;
  if (mail.kind == PeerMail::Kind::pulse) other.pulse = mail.pulse;
  // Nobody else counts this node's steps; after a new start it hears how many there were.
  for (std::size_t i = 0; i < std::min(mail.steps.size(), steps_.size()); ++i) {
    steps_[i] = std::max(steps_[i], mail.steps[i]);
  }
  if (mail.kind == PeerMail::Kind::letter && !left_) events_.letter(mail, other);
}

void PeerCircle::greet(const PeerMail& mail) {
  Other& other = at(mail.from);
  const bool alive = other.greeted && !other.broken && now() - other.heard < kBroken;
  if (alive && other.incarnation != mail.incarnation) {
    return refuse(mail,
                  fmt::format("the place of peer {} is taken: give another --rank", mail.from));
  }
  other.refuses.clear();
  // One that was started anew knows nothing of letters before.
  if (other.incarnation != mail.greeting.incarnation()) {
    events_.went(mail.from, true);
    other.offer_sequence = other.answered_sequence = 0;
    other.pulse.Clear();
    other.final_model.reset();
    options_.say(fmt::format("peer {} is there", mail.from));
    other.incarnation = mail.greeting.incarnation();
    other.greeted = true;
    other.left = false;
    events_.came(mail.from);
  } else {
    if (!other.greeted) come_back(mail.from);
    other.cut = true;
  }
  other.heard = now();
  other.broken = false;
  beaten_ = -1;  // whom it sees now is told at once
}

/// Said once, however often it tries.
void PeerCircle::refuse(const PeerMail& mail, const std::string& why) {
  wire::Head head;
  head.mutable_refusal()->set_why(why);
  head.mutable_refusal()->set_later(mail.greeting.age() > now());  // the younger has to go
  mail.channel->send(message_of(head));
  Other& other = at(mail.from);
  if (std::exchange(other.refused, mail.incarnation) == mail.incarnation) return;
  const std::string said = fmt::format("peer {} was refused: {}", mail.from, why);
  if (greeted() == 0) why_alone_ = said;
  options_.say(said);
}

/// Whom all others refuse need not wait for them. Who has company has nothing to fear from one that
/// is a stranger itself.
void PeerCircle::check_refusals() const {
  if (left_ || greeted() > 0) return;
  const Other* one = nullptr;
  for (const auto& other : others_) {
    if (&other == &others_[static_cast<std::size_t>(options_.self)]) continue;
    if (other.refuses.empty()) return;
    one = &other;
  }
  throw Error(fmt::format("peer {} refuses this one: {}", one - others_.data(), one->refuses));
}

/// One that was silent for long.
void PeerCircle::come_back(int peer) {
  at(peer).greeted = true;
  events_.came(peer);
  options_.say(fmt::format("peer {} is back", peer));
}

void PeerCircle::tell_job(const PeerMail& mail) {
  wire::Head head;
  if (const std::string why = why_no_place(mail.enquiry); !why.empty()) {
    head.mutable_refusal()->set_why(why);
  } else if (mail.from == options_.self || (at(mail.from).greeted && !at(mail.from).broken)) {
    head.mutable_refusal()->set_why(
        fmt::format("the place of peer {} is taken: give another --rank", mail.from));
    head.mutable_refusal()->set_later(true);  // if it has just died
  } else {
    Job job{work_.options, work_.data, work_.batch};
    job.options.insert(work_.data_options.begin(), work_.data_options.end());
    set_job(job, *head.mutable_welcome());
  }
  mail.channel->send(message_of(head));
}

std::string PeerCircle::why_no_place(const wire::Enquiry& enquiry) const {
  std::string why = why_strange(enquiry, options_);
  if (why.empty() && enquiry.rank() >= others_.size()) {
    why = fmt::format("there is no peer {}", enquiry.rank());
  }
  return why;
}

}  // namespace evener
