// Messages of well-formed frames, in any order and with any fields, as they reach a shard server
// from its coordinator and from workers: taken, ignored, or refused with an Error. Only a worker
// with the key of its slot gets a session, and no push makes the shard not finite.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "tests/fuzz/fuzz_input.h"

#include "evener/cluster/membership/worker_key.h"
#include "evener/cluster/parameter_server/shard_server.h"
#include "evener/cluster/wire/wire.h"

namespace {

using namespace evener;

constexpr std::uint32_t kSlots = 2;
constexpr const char* kSecret = "the secret of this run";
const Network kNetwork{.features = 4, .hidden = {1}, .labels = 2};

/// The other side of a connection.
struct FuzzedLink final : Channel {
  void send(Message message) override {
    const wire::Head head = head_of(message);
    if (head.has_heartbeat()) return;  // the only message from another thread
    if (head.has_order()) {
      if (!admitted) std::abort();
      order = head.order().sequence();
    }
    if (head.has_pushed() && head.pushed().invalid().empty())
      pushed.at(head.pushed().node()) = true;
    if (head.has_fetched()) is_fetched = true;
    if (head.has_chunk() && is_fetched) check(message);
  }
  void close(const std::string& /*why*/) override { closed = true; }
  void admit() override { admitted = true; }

  void end(const std::string& why) {
    closed = true;
    // The handler owns this.
    if (const auto ended = std::exchange(handler, nullptr)) ended->ended(why);
  }
  static void check(const Message& message) {
    for (const auto& piece : message.body) {
      for (std::size_t i = 0; i + sizeof(float) <= piece.size(); i += sizeof(float)) {
        float value = 0;
        std::copy_n(piece.data() + i, sizeof value, reinterpret_cast<std::byte*>(&value));
        if (!std::isfinite(value)) std::abort();
      }
    }
  }

  std::shared_ptr<Handler> handler;
  std::uint64_t order = 0;  // sequence number of the last one
  std::uint64_t generation = 1;
  std::uint32_t slot = 0;
  bool admitted = false, closed = false, is_fetched = false;
  std::array<bool, kSlots> pushed{};  // of the coordinator's: valid pushes that were reported
};

class FuzzTransport final : public Transport {
 public:
  std::unique_ptr<Listener> listen(const std::string& /*address*/, Accept accept) override {
    class NoPort final : public Listener {
     public:
      explicit NoPort(FuzzTransport& transport) : transport_(transport) {}
      ~NoPort() override {
        for (const auto& worker : transport_.workers) worker->end("the input is over");
      }
      NoPort(const NoPort&) = delete;
      NoPort& operator=(const NoPort&) = delete;
      std::string address() const override { return "fuzzed:1"; }

     private:
      FuzzTransport& transport_;
    };
    accept_ = std::move(accept);
    return std::make_unique<NoPort>(*this);
  }
  /// To the coordinator.
  std::shared_ptr<Channel> connect(const std::string& /*address*/,
                                   std::shared_ptr<Handler> handler) override {
    coordinator = std::make_shared<FuzzedLink>();
    coordinator->handler = std::move(handler);
    coordinator->handler->received(message_of(keep()));
    return coordinator;
  }
  static wire::Head keep() {
    wire::Head head;
    wire::Keep& keep = *head.mutable_keep();
    const Shard shard = whole_shard(kNetwork);
    keep.set_rows(shard.rows);
    keep.set_width(shard.width);
    keep.set_floats(shard.floats);
    keep.set_slots(kSlots);
    keep.set_heartbeat(1e6);
    keep.set_evict(1e6);
    keep.set_secret(kSecret);
    return head;
  }
  FuzzedLink& open() {
    workers.push_back(std::make_shared<FuzzedLink>());
    workers.back()->handler = accept_(workers.back());
    return *workers.back();
  }

  std::shared_ptr<FuzzedLink> coordinator;
  std::deque<std::shared_ptr<FuzzedLink>> workers;

 private:
  Accept accept_;
};

/// The server asks whether a signal was received before it takes a message of its coordinator. Then
/// the input decides what workers send, and what the coordinator sends next.
class FuzzedServer {
 public:
  explicit FuzzedServer(FuzzInput& input) : input_(input) {}

  void run() {
    ShardServerOptions options;
    options.coordinator = "fuzzed:2";
    options.transport = transport_;
    options.patience = 0;
    options.interrupted = [this] {
      while (!input_.empty() && ++actions_ < 100) {
        if (input_.below(3) != 0) {
          from_worker();
        } else if (from_coordinator()) {
          return 0;
        }
      }
      return 2;
    };
    try {
      run_shard_server(options);
    } catch (const Error&) {  // its coordinator sends what no coordinator sends
    }
  }

 private:
  FuzzedLink& link() {
    auto& workers = transport_->workers;
    const unsigned which = input_.below(4);
    if (which >= workers.size()) return transport_->open();
    if (!workers[which]->closed) return *workers[which];
    workers[which]->end("the server has closed it");
    workers[which] = std::exchange(workers.back(), nullptr);
    workers.pop_back();
    return transport_->open();
  }
  void from_worker() {
    FuzzedLink& from = link();
    try {
      send(from);
    } catch (const Error& problem) {  // as a transport does
      from.end(problem.what());
    }
  }
  void send(FuzzedLink& from) {
    wire::Head head;
    switch (input_.below(8)) {
      case 0:
      case 1:
        return hello(from);
      case 2:
        head.mutable_status_request()->set_token(input_.text(2));
        break;
      case 3:
        head.mutable_heartbeat();
        break;
      case 4:
        return from.handler->received({input_.text(input_.byte()), {}, nullptr});
      default:
        return push(from);
    }
    from.handler->received(message_of(head));
  }
  void hello(FuzzedLink& from) {
    wire::Head head;
    wire::WorkerHello& hello = *head.mutable_worker_hello();
    from.slot = input_.below(kSlots);
    from.generation = 1 + input_.below(4);
    hello.set_protocol(static_cast<std::uint32_t>(input_.number(kProtocol)));
    hello.set_node(static_cast<std::uint32_t>(input_.number(from.slot)));
    hello.set_generation(input_.number(from.generation));
    hello.set_key(worker_key(kSecret, from.slot, from.generation));
    if (input_.byte() < 32) hello.set_key(input_.text(32));
    from.handler->received(message_of(head));
    const bool is_right = hello.node() == from.slot && hello.generation() == from.generation &&
                          hello.key() == worker_key(kSecret, from.slot, from.generation);
    if (from.admitted && !is_right) std::abort();
  }
  ModelUpdateHeader claim() {
    ModelUpdateHeader header;
    header.places = static_cast<ModelUpdate::Places>(input_.below(3));
    header.rows = input_.number(1);
    header.bytes = input_.number(input_.byte());
    return header;
  }
  float value() {
    const double value = input_.amount(0.25);
    return static_cast<float>(std::abs(value) > 1 ? std::copysign(INFINITY, value) : value);
  }
  /// For the last order on this connection, with fields that may be wrong.
  void push(FuzzedLink& from) {
    wire::Head head;
    wire::Push& push = *head.mutable_push();
    push.set_sequence(input_.number(from.order));
    push.set_generation(input_.number(from.generation));
    const std::vector<float> values(layout_of(kNetwork).size, value());
    const std::uint32_t row = input_.below(4);
    PayloadBuffer buffer;
    ModelUpdateHeader header = pushes_.write({&row, 1}, false, values, buffer.next());
    if (input_.byte() < 32) header = claim();
    set_header(header, *push.mutable_push());
    from.handler->received(message_of(head));
    for (auto& chunk : buffer.chunks(input_.number(push.sequence()))) {
      if (input_.byte() < 16) return;  // the rest is missing
      from.handler->received(std::move(chunk));
    }
  }

  /// Whether a message was sent. A worker gets an order when its last push was used, and only a
  /// push that has arrived is applied.
  bool from_coordinator() {
    FuzzedLink& to = *transport_->coordinator;
    const std::uint32_t slot = input_.below(kSlots);
    bool& granted = granted_.at(slot);
    bool& pushed = to.pushed.at(slot);
    wire::Head head;
    switch (input_.below(8)) {
      case 0:
      case 1:
      case 2:
        if (std::exchange(granted, true)) return false;
        head.mutable_grant()->set_node(slot);
        head.mutable_grant()->set_generation(1 + input_.below(4));
        head.mutable_grant()->set_sequence(++sequence_);
        break;
      case 3:
        if (!std::exchange(pushed, false)) return false;
        granted = false;
        head.mutable_apply_pushes()->add_nodes(slot);
        head.mutable_apply_pushes()->set_share(1);
        head.mutable_apply_pushes()->set_damping(1);
        break;
      case 4:
        granted = pushed = false;
        head.mutable_reject()->set_node(slot);
        break;
      case 5:
        granted = pushed = false;
        head.mutable_forget()->set_node(slot);
        break;
      case 6:
        head.mutable_fetch()->set_vector(input_.below(2));
        break;
      default:
        return start_again_or_load(to);
    }
    to.handler->received(message_of(head));
    return true;
  }
  bool start_again_or_load(FuzzedLink& to) {
    switch (input_.below(3)) {
      case 0:
        to.handler->received(message_of(FuzzTransport::keep()));
        granted_ = to.pushed = {};
        return true;
      case 1: {
        const std::vector<float> values(layout_of(kNetwork).size, 0.5F);
        PayloadBuffer buffer;
        wire::Head head;
        head.mutable_load()->set_vector(input_.below(2));
        set_header(pushes_.write({}, true, values, buffer.next()),
                   *head.mutable_load()->mutable_update());
        to.handler->received(message_of(head));
        for (auto& chunk : buffer.chunks(0)) to.handler->received(std::move(chunk));
        return true;
      }
      default:
        to.handler->received({input_.text(input_.byte()), {}, nullptr});
        return true;
    }
  }

  FuzzInput& input_;
  std::shared_ptr<FuzzTransport> transport_ = std::make_shared<FuzzTransport>();
  ModelUpdateFormat pushes_{kNetwork, {}};
  std::uint64_t sequence_ = 0;
  std::array<bool, kSlots> granted_{};
  int actions_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  FuzzedServer(input).run();
  return 0;
}
