// Messages of well-formed frames, in any order and with any fields, as they reach a coordinator
// from workers and shard servers: taken, ignored, or refused with an Error.
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "tests/cluster/parameter_server/explored_cluster.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/runtime/fakes.h"

namespace {

using namespace evener;

constexpr int kSlots = 2;
constexpr std::size_t kRows = 4;
const Network kNetwork{.features = kRows, .hidden = {1}, .labels = 2};

class FuzzedCoordinator {
 public:
  explicit FuzzedCoordinator(FuzzInput& input)
      : input_(input),
        transport_(std::make_shared<SimulatedTransport>()),
        device_("evaluation", log_),
        coordinator_(options()) {
    coordinator_.offer({{}, {kRows, 1, 2, 3}, 1});
    if (has_servers_) return;
    ModelSetup setup;
    setup.network = kNetwork;
    setup.training.optimizer = Optimizer::sgd;
    setup.devices = {&device_};
    models_ = coordinator_.make_models(setup, parse_strategy("asp"));
    models_->give(0, FloatBuffer(layout_of(kNetwork).size));
  }
  ~FuzzedCoordinator() {
    coordinator_.leave_engine();
    for (auto& link : transport_->links()) {
      if (!link.ended) link.handler->ended("the input is over");
    }
  }
  FuzzedCoordinator(const FuzzedCoordinator&) = delete;
  FuzzedCoordinator& operator=(const FuzzedCoordinator&) = delete;

  void run() {
    for (int i = 0; i < 80 && !input_.empty(); ++i) {
      try {
        act();
        take();
      } catch (const Error&) {  // the connection would be closed
      }
    }
    if (!models_) return;
    const FloatBuffer model = models_->take(0);
    for (std::size_t i = 0; i < model.size(); ++i) {
      if (!std::isfinite(model.data()[i])) std::abort();
    }
  }

 private:
  CoordinatorOptions options() {
    has_servers_ = input_.byte() % 4 == 0;
    CoordinatorOptions options;
    options.transport = transport_;
    options.most = kSlots;
    options.servers = has_servers_ ? 1 : 0;
    options.heartbeats = {1e6, 1e7, 1e7};
    return options;
  }
  /// What the scheduler does with arrivals: it applies pushes that are valid.
  void take() {
    while (auto arrival = coordinator_.next(0)) {
      if (!std::isfinite(arrival->stats.compute) || arrival->stats.compute < 0) std::abort();
      if (!arrival->failure.empty()) models_->lose(arrival->task.worker);
      if (!arrival->failure.empty() || !arrival->invalid.empty()) continue;
      dynamic_cast<PushSharing&>(*models_).apply_pushes({{arrival->task.worker}, 1, 1, 0});
    }
    while (const auto change = coordinator_.take_change()) {
      if (change->worker < 0 || change->worker >= kSlots) std::abort();
      joined_[static_cast<std::size_t>(change->worker)] =
          change->kind != MembershipChange::Kind::lost;
      if (change->kind == MembershipChange::Kind::lost && models_) models_->lose(change->worker);
    }
  }
  SimulatedLink& link() {
    auto& links = transport_->links();
    const unsigned which = input_.below(4);
    if (which >= links.size()) return transport_->open();
    return links[which].ended ? transport_->open() : links[which];
  }
  void act() {
    SimulatedLink& from = link();
    wire::Head head;
    switch (input_.below(10)) {
      case 0: {
        wire::Hello& hello = *head.mutable_hello();
        hello.set_protocol(static_cast<std::uint32_t>(input_.number(kProtocol)));
        hello.set_rank(static_cast<int>(input_.number(input_.below(3))));
        hello.set_identity(input_.text(1));
        break;
      }
      case 1:
        set_fingerprint({input_.number(kRows), 1, 2, 3}, *head.mutable_ready()->mutable_data());
        head.mutable_ready()->set_most_rows(input_.number(0));
        break;
      case 2:
        return start(static_cast<int>(input_.below(kSlots)));
      case 3:
      case 4:
        return push(from);
      case 5:
        head.mutable_worker_state()->set_vectors(static_cast<std::uint32_t>(input_.number(1)));
        set_header(claim(), *head.mutable_worker_state()->mutable_vector());
        break;
      case 6:
        from.ended = true;
        return from.handler->ended("lost");
      case 7:
        return server(from);
      case 8:
        return from.handler->received({input_.text(input_.byte()), {}, nullptr});
      default:
        head.mutable_heartbeat()->set_progress(input_.byte());
        break;
    }
    from.handler->received(message_of(head));
  }
  void start(int worker) {
    if (!models_ || !joined_[static_cast<std::size_t>(worker)] || busy(worker)) return;
    Task task;
    task.worker = worker;
    task.work = Work::pushed;
    task.parts.push_back({{std::span(&kFirstRow, 1), 1, 0}, {1, 0.1F}});
    coordinator_.start(std::move(task));
  }
  /// The scheduler gives a worker one task at a time.
  bool busy(int worker) { return orders_of(worker) > pushes_[static_cast<std::size_t>(worker)]; }
  std::uint64_t orders_of(int worker) {
    std::uint64_t last = 0;
    for (auto& link : transport_->links()) {
      for (const auto& message : link.answers) {
        const wire::Head head = head_of(message);
        if (head.has_welcome()) slot_[&link] = head.welcome();
        if (head.has_order() && static_cast<int>(slot_[&link].node()) == worker) {
          last = std::max(last, head.order().sequence());
        }
      }
    }
    return last;
  }
  ModelUpdateHeader claim() {
    ModelUpdateHeader header;
    header.places = static_cast<ModelUpdate::Places>(input_.below(3));
    header.rows = input_.number(1);
    header.bytes = input_.number(input_.byte());
    return header;
  }
  /// For the last order on this connection, with fields that may be wrong.
  void push(SimulatedLink& from) {
    const int worker = static_cast<int>(slot_[&from].node());
    wire::Head head;
    wire::Push& push = *head.mutable_push();
    push.set_sequence(input_.number(orders_of(worker)));
    push.set_generation(input_.number(slot_[&from].generation()));
    push.set_loss_sum(input_.amount(1));
    push.set_compute(input_.amount(0.5));
    std::vector<float> values(layout_of(kNetwork).size, static_cast<float>(input_.byte()) / 16);
    const std::uint32_t row = input_.below(kRows);
    PayloadBuffer buffer;
    const ModelUpdateFormat format(kNetwork, {});
    ModelUpdateHeader header = format.write({&row, 1}, false, values, buffer.next());
    if (input_.byte() < 32) header = claim();
    set_header(header, *push.mutable_push());
    from.handler->received(message_of(head));
    for (auto& chunk : buffer.chunks(input_.number(push.sequence()))) {
      from.handler->received(std::move(chunk));
    }
    pushes_[static_cast<std::size_t>(worker) % kSlots] = orders_of(worker);
  }
  void server(SimulatedLink& from) {
    wire::Head head;
    switch (input_.below(4)) {
      case 0:
        head.mutable_server_hello()->set_protocol(kProtocol);
        head.mutable_server_hello()->set_address(input_.text(3));
        break;
      case 1:
        head.mutable_kept();
        break;
      case 2: {
        wire::Pushed& pushed = *head.mutable_pushed();
        pushed.set_node(static_cast<std::uint32_t>(input_.number(0)));
        pushed.set_generation(input_.number(1));
        pushed.set_sequence(input_.number(1));
        break;
      }
      default:
        set_header(claim(), *head.mutable_fetched()->mutable_update());
        break;
    }
    from.handler->received(message_of(head));
  }

  static constexpr std::uint32_t kFirstRow = 0;
  FuzzInput& input_;
  std::shared_ptr<SimulatedTransport> transport_;
  FakeLog log_;
  FakeDevice device_;
  bool has_servers_ = false;
  std::unique_ptr<Models> models_;
  CoordinatorService coordinator_;
  std::array<bool, kSlots> joined_{};
  std::array<std::uint64_t, kSlots> pushes_{};  // orders that were answered
  std::map<const SimulatedLink*, wire::Welcome> slot_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  FuzzedCoordinator(input).run();
  return 0;
}
