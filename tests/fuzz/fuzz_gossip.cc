// Messages of well-formed frames, in any order and with any fields, as they reach a gossip peer:
// taken, or refused with an Error. No message may spoil the peer's model or its weight.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>

#include "tests/fuzz/fuzz_input.h"

#include "evener/cluster/gossip/peer_checks.h"
#include "evener/cluster/gossip/peer_exchange.h"
#include "evener/device/device.h"

namespace {

using namespace evener;

class NoChannel final : public Channel {
 public:
  void send(Message message) override { head_of(message); }
  void close(const std::string& /*why*/) override {}
};

class FuzzTransport final : public Transport {
 public:
  std::unique_ptr<Listener> listen(const std::string& /*address*/, Accept accept) override {
    class NoPort final : public Listener {
      std::string address() const override { return "fuzzed"; }
    };
    accept_ = std::move(accept);
    return std::make_unique<NoPort>();
  }
  std::shared_ptr<Channel> connect(const std::string& /*address*/,
                                   std::shared_ptr<Handler> handler) override {
    opened_.push_back(std::move(handler));
    return std::make_shared<NoChannel>();
  }
  std::shared_ptr<Handler> accept() { return accept_(std::make_shared<NoChannel>()); }
  std::deque<std::shared_ptr<Handler>>& opened() { return opened_; }

 private:
  Accept accept_;
  std::deque<std::shared_ptr<Handler>> opened_;  // by the peer
};

constexpr std::size_t kRows = 4;

Dataset small_rows() {
  CsrArrays x, y;
  for (std::uint32_t row = 0; row < kRows; ++row) {
    x.indices.push_back(row);
    x.values.push_back(1);
    x.offsets.push_back(row + 1);
    y.indices.push_back(row % 2);
    y.offsets.push_back(row + 1);
  }
  return make_dataset(std::move(x), kRows, std::move(y), 2);
}

/// A peer of three, and the messages that the input makes.
class FuzzedPeer {
 public:
  explicit FuzzedPeer(FuzzInput& input)
      : input_(input),
        data_(small_rows()),
        layout_(network()),
        replica_(device().make_replica(network(), {}), network(), data_, peer_choice()),
        exchange_(options_, 1, replica_, layout_, result_, group_),
        group_(options_, work_, layout_, result_.steps,
               {[this](int peer) { exchange_.peer_joined(peer); },
                [this](int peer, bool for_good) { exchange_.peer_left(peer, for_good); },
                [this](PeerEvent& event, PeerState& other) {
                  exchange_.take_message(event, other);
                }}) {
    result_.steps.resize(3);
    result_.timeline = Timeline({"0", "1", "2"});
    replica_.start_from(std::vector<float>(layout_of(network()).size, 0.5F));
    for (auto& connection : connections_) connection = transport_->accept();
  }

  void run() {
    for (int i = 0; i < 60 && !input_.empty(); ++i) {
      try {
        act();
        group_.poll(0);
      } catch (const Error&) {  // its connection would be closed, or the run would end
      }
    }
    replica_.look([](std::span<const float> model) {
      for (const float value : model) {
        if (!std::isfinite(value)) std::abort();
      }
    });
    if (!std::isfinite(replica_.weight()) || replica_.weight() <= 0) std::abort();
  }

 private:
  static Network network() { return {.features = kRows, .hidden = {1}, .labels = 2}; }
  static Device& device() {
    static const std::unique_ptr<Device> one = make_device("cpu:1");
    return *one;
  }
  PeerOptions peer_choice() {
    options_.rule.push_sum = input_.byte() % 2 == 0;
    options_.rule.peers = PeerChoice::shift;
    options_.addresses = {"a", "b", "c"};
    options_.transport = transport_;
    work_.network = network();
    work_.data = {kRows, 1, 2, 3};
    PeerOptions options;
    options.push_sum = options_.rule.push_sum;
    return options;
  }

  void act() {
    const unsigned peer = 1 + input_.below(2);
    Handler& from = *connections_[peer - 1];
    wire::Head head;
    switch (input_.below(8)) {
      case 0: {
        GossipPeerOptions theirs = options_;
        theirs.self = static_cast<int>(input_.number(peer));
        head = hello_of(theirs, work_, input_.number(5), input_.amount(1));
        return from.received(message_of(head));
      }
      case 1: {
        wire::PeerHeartbeat& heartbeat = *head.mutable_peer_heartbeat();
        heartbeat.set_sees(static_cast<std::uint32_t>(input_.number(2)));
        heartbeat.set_busy(input_.amount(0.1));
        for (unsigned i = input_.below(5); i > 0; --i) heartbeat.add_steps(input_.number(3));
        return from.received(message_of(head));
      }
      case 2:
        head.mutable_leave();
        return from.received(message_of(head));
      case 3: {
        wire::JoinRequest& request = *head.mutable_join_request();
        request.set_protocol(kProtocol);
        request.set_rank(static_cast<std::uint32_t>(input_.number(peer)));
        request.set_peers(3);
        request.set_list(checksum_of(options_.addresses));
        return from.received(message_of(head));
      }
      case 4:
        if (transport_->opened().empty()) return;
        return transport_->opened()[input_.byte() % transport_->opened().size()]->ended("cut");
      case 5: {
        exchange_.trained(1);
        return exchange_.act(input_.byte() % 2 == 0);
      }
      case 6:
        return from.received({input_.text(input_.byte()), {}, nullptr});
      default:
        return gossip(from);
    }
  }
  /// A message with a model, all of it or a part.
  void gossip(Handler& from) {
    ModelUpdate update;
    update.weight = input_.amount(1);
    update.places = static_cast<ModelUpdate::Places>(input_.below(3));
    const std::uint64_t count = input_.number(layout_.size()) % 4096;
    for (std::uint64_t i = 0; i < count; ++i) {
      update.values.push_back(static_cast<float>(input_.byte()) / 16);
    }
    wire::Head head;
    wire::GossipMessage& message = *head.mutable_gossip_message();
    message.set_kind(static_cast<wire::GossipMessage::Kind>(input_.below(7)));
    message.set_sequence(input_.number(1 + input_.below(3)));
    message.set_weight(update.weight);
    auto bytes = std::make_shared<std::vector<std::byte>>();
    ModelUpdateHeader header = write_update(update, *bytes);
    header.bytes = input_.number(header.bytes);
    set_header(header, *message.mutable_update());
    from.received(message_of(head));
    for (auto& chunk : chunks_of(bytes, message.sequence())) from.received(std::move(chunk));
  }

  FuzzInput& input_;
  Dataset data_;
  std::shared_ptr<FuzzTransport> transport_ = std::make_shared<FuzzTransport>();
  GossipPeerOptions options_;
  GossipWork work_;
  GossipResult result_;
  ModelUpdateLayout layout_;
  PeerReplica replica_;
  PeerExchange exchange_;
  PeerGroup group_;
  std::array<std::shared_ptr<Handler>, 2> connections_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  FuzzedPeer(input).run();
  return 0;
}
