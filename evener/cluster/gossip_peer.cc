#include "evener/cluster/gossip_peer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "evener/cluster/peer_mail.h"
#include "evener/cluster/share_of_rows.h"

namespace evener {

namespace {

using Wire = wire::PeerLetter;

constexpr Seconds kBeat = 0.25;      // between signs of life
constexpr Seconds kRemind = 1.5;     // after which an offer is made once more
constexpr Seconds kLinger = 0.5;     // after the end
constexpr std::uint64_t kLate = 10;  // steps a peer: who has missed no more begins with the others

class GossipPeer {
 public:
  GossipPeer(const GossipPeerOptions& options, const GossipWork& work, PeerReplica& replica)
      : options_(options),
        work_(work),
        replica_(replica),
        node_(options.self, options.rule, work.seed),
        map_(work.network),
        others_(options.addresses.size()),
        incarnation_(std::random_device{}()),
        rows_(work, static_cast<std::size_t>(options.self), options.addresses.size()) {
    result_.steps.assign(options.addresses.size(), steps_before(work, options.addresses.size()));
    before_ = total_steps();
    const std::string& own = options.addresses.at(static_cast<std::size_t>(options.self));
    listener_ = options.transport->listen(
        options.listen.empty() ? own : options.listen,
        [this](const std::shared_ptr<Channel>& /*channel*/) {
          return std::make_shared<PeerGuest>(mail_, map_, [this](const wire::Greeting& greeting) {
            return why_refused(greeting, options_.token, others_.size(), work_);
          });
        });
  }
  ~GossipPeer() {
    for (auto& other : others_) other.channel.reset();
    listener_.reset();
  }

  GossipResult run() {
    replica_.start_from(work_.start);
    gather();
    if (total_steps() > before_ + kLate * static_cast<std::uint64_t>(count())) fetch_model();
    while (!is_over()) {
      hear(0);
      rest(true);
      if (!node_.may_train()) {
        hear(kBeat);
        continue;
      }
      step();
    }
    finish();
    return std::move(result_);
  }

 private:
  int count() const { return static_cast<int>(others_.size()); }
  Other& at(int peer) { return others_[static_cast<std::size_t>(peer)]; }
  Seconds now() const { return clock_.elapsed(); }
  int signal() const { return options_.interrupted ? options_.interrupted() : 0; }
  std::uint64_t total_steps() const {
    return std::accumulate(result_.steps.begin(), result_.steps.end(), std::uint64_t{0});
  }
  double epochs_done() const {
    return static_cast<double>(total_steps() * work_.batch) /
           static_cast<double>(work_.rows.size());
  }
  bool is_over() {
    if (result_.signal == 0) result_.signal = signal();
    return result_.signal != 0 || epochs_done() >= work_.epochs;
  }

  /// Until all are there and see each other, or for as long as patience lasts. Who has begun is not
  /// kept waiting.
  void gather() {
    const auto all = [&] {
      return std::all_of(others_.begin(), others_.end(), [&](const Other& other) {
        return &other == &at(options_.self) || (other.greeted && other.sees == count() - 1);
      });
    };
    while (!all() && total_steps() == before_ && signal() == 0) {
      hear(kBeat);
      if (now() < options_.patience) continue;
      if (greeted() == 0) {
        throw Error(
            fmt::format("no peer for {:g} s: start the others of --peers, or wait longer "
                        "with --wait-seconds ({})",
                        options_.patience, why_alone_));
      }
      options_.say(fmt::format("{} of {} peers are there: beginning without the others",
                               greeted() + 1, count()));
      return;
    }
  }
  int greeted() const {
    return static_cast<int>(std::count_if(others_.begin(), others_.end(),
                                          [](const Other& other) { return other.greeted; }));
  }

  /// The run has begun without it: it goes on from another's model.
  void fetch_model() {
    for (int turn = 0; turn < 3 * count() && signal() == 0; ++turn) {
      const int peer = (options_.self + 1 + turn) % count();
      if (peer == options_.self || !at(peer).greeted) continue;
      send(peer, Wire::ASK, 0, {});
      for (const Seconds since = now(); now() - since < 2 && !at(peer).asked;) hear(kBeat);
      if (!at(peer).asked) continue;
      replica_.start_from(std::exchange(at(peer).asked, std::nullopt)->values);
      options_.say(fmt::format("joined late, with the model of peer {}", peer));
      return;
    }
    throw Error("the run has begun, and no peer gives its model");
  }
  void step() {
    const Seconds begin = now();
    const auto rows = rows_.next();
    const float learning_rate = learning_rate_at(work_.schedule, epochs_done());
    Task task;
    std::uint64_t& steps = result_.steps[static_cast<std::size_t>(options_.self)];
    task.parts.push_back({{rows, rows.size(), 0}, {++own_steps_, learning_rate}});
    const double loss = replica_.train(task) / static_cast<double>(rows.size());
    result_.training += now() - begin;
    if (!std::isfinite(loss)) throw Error("the loss is not finite: try a lower --learning-rate");
    ++steps;
    constexpr double kNewest = 0.05;
    result_.loss = own_steps_ == 1 ? loss : std::lerp(result_.loss, loss, kNewest);
    node_.step(replica_.change());
    if (options_.progress) options_.progress(epochs_done(), result_);
    busy_ = std::max(busy_, now() - begin);
  }
  /// A peer in the middle of a long step says nothing and answers nothing.
  static Seconds allowance(const Other& other) { return 2 * other.busy; }

  void rest(bool offers) {
    for (const NodeAction& action : node_.rest(now(), offers)) {
      std::visit(Cases{[&](const NodeOffers& a) {
                         offered_ = replica_.offer();
                         offered_at_ = now();
                         send(a.to, Wire::OFFER, a.sequence, offered_);
                       },
                       [&](const NodeAnswers& a) {
                         Other& other = at(a.to);
                         if (!a.again) {
                           other.answered = replica_.answer(other.offer);
                           ++result_.exchanges;
                         }
                         send(a.to, Wire::REPLY, a.sequence, other.answered);
                       },
                       [&](const NodeDeclines& a) { send(a.to, Wire::DECLINE, a.sequence, {}); },
                       [&](const NodeSettles& a) {
                         replica_.settle(offered_, at(a.from).reply);
                         ++result_.exchanges;
                       }},
                 action);
    }
    const auto again = node_.remind();
    if (again && now() - offered_at_ > kRemind + allowance(at(again->to))) {
      offered_at_ = now();
      send(again->to, Wire::OFFER, again->sequence, offered_);
    }
  }

  void send(int peer, Wire::Kind kind, std::uint64_t sequence, const Parcel& parcel) {
    const auto& channel = at(peer).channel;
    if (!channel) return;  // lost: a reminder will follow
    wire::Head head;
    wire::PeerLetter& letter = *head.mutable_letter();
    letter.set_kind(kind);
    letter.set_sequence(sequence);
    letter.set_weight(parcel.weight);
    for (const std::uint64_t steps : result_.steps) letter.add_steps(steps);
    set_header(parcel, *letter.mutable_parcel());
    auto bytes = std::make_shared<std::vector<std::byte>>();
    write_parcel(parcel, *bytes);
    channel->send(message_of(head));
    for (auto& chunk : chunks_of(bytes, sequence)) channel->send(std::move(chunk));
    result_.sent += bytes->size();
  }

  /// What has come, after waiting for so long where nothing has; and what time asks for.
  void hear(Seconds wait) {
    connect_missing();
    beat();
    for (auto mail = mail_.get_within(wait); mail; mail = mail_.get_within(0)) take(*mail);
    for (int i = 0; i < count(); ++i) {
      const Seconds most = options_.silence + allowance(at(i));
      if (!at(i).greeted || now() - at(i).heard < most) continue;
      at(i).greeted = false;
      node_.part(i);
      options_.say(fmt::format("peer {}: no sign of life for {:.0f} s", i, most));
    }
  }
  void connect_missing() {
    for (int i = 0; i < count(); ++i) {
      Other& other = at(i);
      if (i == options_.self || other.channel || now() < other.retry_at) continue;
      // At the start everybody waits for everybody.
      other.retry_at = now() + (own_steps_ == 0 ? kPause / 5 : kPause);
      other.channel = options_.transport->connect(options_.addresses[static_cast<std::size_t>(i)],
                                                  std::make_shared<PeerLink>(mail_, i));
      other.channel->send(message_of(greeting_of(options_, work_, incarnation_)));
      send_pulse(other);
    }
  }
  void beat() {
    if (now() - beaten_ < kBeat) return;
    beaten_ = now();
    for (auto& other : others_) send_pulse(other);
  }
  void send_pulse(Other& other) {
    if (!other.channel) return;
    wire::Head head;
    head.mutable_pulse()->set_sees(static_cast<std::uint32_t>(greeted()));
    head.mutable_pulse()->set_busy(busy_);
    for (const std::uint64_t steps : result_.steps) head.mutable_pulse()->add_steps(steps);
    other.channel->send(message_of(head));
  }

  void take(PeerMail& mail) {
    if (mail.from < 0 || mail.from >= count() || mail.from == options_.self) return;
    Other& other = at(mail.from);
    switch (mail.kind) {
      case PeerMail::Kind::link_down:
        if (other.refused == 0) why_alone_ = fmt::format("peer {}: {}", mail.from, mail.why);
        other.channel.reset();
        other.told = false;
        return;
      case PeerMail::Kind::refusal:  // said once, however often it tries
        if (other.refused == mail.greeting.incarnation()) return;
        other.refused = mail.greeting.incarnation();
        why_alone_ = fmt::format("peer {} was refused: {}", mail.from, mail.why);
        return options_.say(why_alone_);
      case PeerMail::Kind::greeting:
        return greet(mail);
      case PeerMail::Kind::pulse:
      case PeerMail::Kind::letter:
        break;
    }
    if (!other.greeted) come_back(mail.from);
    other.heard = now();
    if (mail.kind == PeerMail::Kind::pulse) {
      other.sees = mail.sees;
      other.busy = mail.busy;
    }
    // Nobody else counts this node's steps; after a new start it hears how many there were.
    for (std::size_t i = 0; i < std::min(mail.steps.size(), result_.steps.size()); ++i) {
      result_.steps[i] = std::max(result_.steps[i], mail.steps[i]);
    }
    if (mail.kind == PeerMail::Kind::letter) take_letter(mail, other);
  }

  void greet(const PeerMail& mail) {
    Other& other = at(mail.from);
    // One that was started anew knows nothing of letters before.
    if (other.incarnation != mail.greeting.incarnation()) {
      node_.part(mail.from);
      other.offer_sequence = 0;
      options_.say(fmt::format("peer {} is there", mail.from));
      other.incarnation = mail.greeting.incarnation();
      other.greeted = true;
      node_.meet(mail.from);
    } else if (!other.greeted) {
      come_back(mail.from);
    }
    other.heard = now();
    beaten_ = -1;  // whom it sees now is told at once
  }

  /// One that was silent for long.
  void come_back(int peer) {
    at(peer).greeted = true;
    node_.meet(peer);
    options_.say(fmt::format("peer {} is back", peer));
  }

  void take_letter(PeerMail& mail, Other& other) {
    const std::uint64_t sequence = mail.letter.sequence();
    result_.received += mail.parcel.bytes();
    if (mail.why.empty()) mail.why = why_useless(mail, map_, options_.rule.push_sum);
    if (!mail.why.empty()) {
      ++result_.refused;
      if (mail.letter.kind() == Wire::OFFER) send(mail.from, Wire::DECLINE, sequence, {});
      if (mail.letter.kind() == Wire::REPLY) {
        node_.receive({Letter::Kind::decline, mail.from, options_.self, sequence});
      }
      return;
    }
    const auto tell = [&](Letter::Kind kind) {
      node_.receive({kind, mail.from, options_.self, sequence});
    };
    switch (mail.letter.kind()) {
      case Wire::OFFER:
        if (closing_) return send(mail.from, Wire::DECLINE, sequence, {});
        if (sequence < other.offer_sequence) return;  // of long ago
        other.offer = std::move(mail.parcel);
        other.offer_sequence = sequence;
        return tell(Letter::Kind::offer);
      case Wire::REPLY:
        if (!node_.awaits(mail.from, sequence)) return;
        if (!options_.rule.push_sum && mail.parcel.values.size() != offered_.values.size()) return;
        other.reply = std::move(mail.parcel);
        return tell(Letter::Kind::reply);
      case Wire::DECLINE:
        ++result_.declined;
        return tell(Letter::Kind::decline);
      case Wire::ASK:
        return send(mail.from, Wire::MODEL, sequence, replica_.whole());
      case Wire::MODEL:
        other.asked = std::move(mail.parcel);
        return;
      case Wire::FINAL:
        other.final_model = std::move(mail.parcel);
        return;
      default:
        return;
    }
  }

  /// Its own exchange is brought to an end, then all tell each other their last models, and
  /// everybody has the same mean.
  void finish() {
    for (const Seconds since = now();
         node_.waits() && signal() == 0 && now() - since < options_.silence;) {
      hear(kBeat / 5);
      rest(false);
    }
    rest(false);
    closing_ = true;
    const Parcel mine = replica_.whole();
    result_.model = FloatBuffer(map_.size());
    const auto missing = [&] {
      return std::any_of(others_.begin(), others_.end(),
                         [](const Other& other) { return other.greeted && !other.final_model; });
    };
    for (bool first = true; result_.signal == 0 && (first || missing()); first = false) {
      tell_final(mine);
      hear(kBeat / 5);
      result_.signal = signal();
    }
    if (result_.signal != 0) {  // its own alone
      for (auto& other : others_) other.final_model.reset();
    }
    at(options_.self).final_model = mine;
    result_.models = mean_of_finals(others_, result_.model.span());
    // What was sent last arrives before the connections go.
    for (const Seconds since = now(); now() - since < kLinger;) hear(kBeat / 5);
  }
  /// Once over each connection.
  void tell_final(const Parcel& mine) {
    for (int i = 0; i < count(); ++i) {
      if (at(i).channel && !std::exchange(at(i).told, true)) send(i, Wire::FINAL, 0, mine);
    }
  }

  const GossipPeerOptions& options_;
  const GossipWork& work_;
  PeerReplica& replica_;
  GossipNode node_;
  ParcelMap map_;
  std::vector<Other> others_;  // by rank, this one too
  std::uint64_t incarnation_;
  GossipResult result_;
  Stopwatch clock_;
  Seconds beaten_ = -1, offered_at_ = 0, busy_ = 0;
  Parcel offered_;
  bool closing_ = false;
  std::string why_alone_ = "nobody has answered yet";  // where no peer is there
  std::uint64_t own_steps_ = 0, before_ = 0;           // its own; of all, before a resumption
  ShareOfRows rows_;
  PeerMailbox mail_;
  std::unique_ptr<Listener> listener_;  // last: its conversations use all of the above
};

}  // namespace

GossipResult run_gossip_peer(const GossipPeerOptions& options, const GossipWork& work,
                             PeerReplica& replica) {
  return GossipPeer(options, work, replica).run();
}

}  // namespace evener
