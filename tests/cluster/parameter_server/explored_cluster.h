// A real coordinator, scheduler and policy in one thread, with workers that are simulated message
// by message. A sequence of choices decides which message arrives next, which fault happens, and
// where the connection threads run between two calls of the scheduler's thread.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/choices.h"
#include <fmt/format.h>

#include "evener/cluster/parameter_server/coordinator_service.h"

namespace evener {

/// How many of each a run may have.
struct FaultLimits {
  int faults = 1;
  int preemptions = 0;  // messages that arrive between two calls of the scheduler's thread
  bool only_crashes = false;
};

/// A connection of a simulated worker to the coordinator.
struct SimulatedLink {
  std::deque<std::vector<Message>> sent;  // by the worker; each entry arrives as a whole
  std::deque<Message> answers;            // of the coordinator
  bool closed = false;                    // by the coordinator
  bool ends = false;                      // the end arrives after what was sent
  bool ended = false;                     // the coordinator knows the end
  std::shared_ptr<Handler> handler;
};

class SimulatedChannel final : public Channel {
 public:
  explicit SimulatedChannel(SimulatedLink& link) : link_(link) {}
  void send(Message message) override {
    // The only message from another thread.
    if (head_of(message).has_heartbeat()) return;
    if (!link_.ends && !link_.closed) link_.answers.push_back(std::move(message));
  }
  void close(const std::string& /*why*/) override { link_.closed = true; }

 private:
  SimulatedLink& link_;
};

class SimulatedTransport final : public Transport {
 public:
  std::unique_ptr<Listener> listen(const std::string& /*address*/, Accept accept) override {
    class NoPort final : public Listener {
      std::string address() const override { return "simulated:1"; }
    };
    accept_ = std::move(accept);
    return std::make_unique<NoPort>();
  }
  std::shared_ptr<Channel> connect(const std::string& /*address*/,
                                   std::shared_ptr<Handler> /*handler*/) override {
    throw Error("a coordinator does not connect");
  }
  SimulatedLink& open() {
    links_.emplace_back();
    links_.back().handler = accept_(std::make_shared<SimulatedChannel>(links_.back()));
    return links_.back();
  }
  std::deque<SimulatedLink>& links() { return links_; }

 private:
  Accept accept_;
  std::deque<SimulatedLink> links_;
};

/// A worker process: it answers each message at once. Its push for row r adds 1 to the weights of
/// feature r.
class SimulatedWorker {
 public:
  SimulatedWorker(int rank, const Network& network, DataFingerprint data)
      : rank_(rank),
        format_(network, {}),
        width_(layout_of(network).layers.front().weight.stride),
        values_(layout_of(network).size),
        data_(data) {}

  bool connected() const { return link_ != nullptr; }
  bool put_off() const { return put_off_; }
  SimulatedLink& link() { return *link_; }
  void connect(SimulatedTransport& transport) {
    link_ = &transport.open();
    put_off_ = false;
    wire::Head head;
    wire::Hello& hello = *head.mutable_hello();
    hello.set_protocol(kProtocol);
    hello.set_rank(rank_);
    hello.set_identity(fmt::format("worker {}, process {}", rank_, process_));
    link_->sent.push_back({message_of(head)});
  }
  /// Reads what the coordinator sent.
  void read() {
    while (link_ != nullptr && !link_->answers.empty()) {
      const Message message = std::move(link_->answers.front());
      link_->answers.pop_front();
      take(head_of(message));
    }
    if (link_ != nullptr && link_->closed) disconnect();
  }
  /// The connection ends after all that was sent; the process stays.
  void disconnect() {
    link_->ends = true;
    link_ = nullptr;
  }
  /// The process ends, and nothing that is on its way arrives.
  void crash() {
    link_->sent.clear();
    ++process_;
    disconnect();
  }
  /// The coordinator closes the connection, and nothing that is on its way arrives: it has heard
  /// nothing for too long, or the worker hangs. The process stays and connects again.
  void evict() {
    link_->sent.clear();
    disconnect();
  }
  /// The connection ends in the middle of a push.
  bool can_cut() const { return link_ != nullptr && has_push(link_->sent); }
  void cut() {
    link_->sent.back().pop_back();
    crash_after();
  }
  void leave() {
    wire::Head head;
    head.mutable_leave();
    link_->sent.push_back({message_of(head)});
    crash_after();
  }
  bool can_resend() const { return link_ != nullptr && !last_push_.empty(); }
  /// Sends its last push again, which may be from an earlier connection.
  void resend() { link_->sent.push_back(last_push_); }
  /// The push that is on its way has a number that is not finite.
  void spoil() {
    link_->sent.back() = push_of(last_order_, std::numeric_limits<float>::quiet_NaN());
  }

 private:
  static bool has_push(const std::deque<std::vector<Message>>& sent) {
    return !sent.empty() && sent.back().size() > 1;
  }
  void crash_after() {
    ++process_;
    disconnect();
  }
  void take(const wire::Head& head) {
    if (head.has_welcome()) {
      generation_ = head.welcome().generation();
      wire::Head ready;
      set_fingerprint(data_, *ready.mutable_ready()->mutable_data());
      link_->sent.push_back({message_of(ready)});
    } else if (head.has_refusal()) {
      if (!head.refusal().later()) throw Error("a worker is refused: " + head.refusal().why());
      put_off_ = true;
      disconnect();
    } else if (head.has_order()) {
      last_order_ = head.order();
      last_push_ = push_of(last_order_, 1);
      link_->sent.push_back(last_push_);
    }
  }
  std::vector<Message> push_of(const wire::Order& order, float value) {
    std::vector<std::uint32_t> rows;
    for (const auto& step : order.steps()) {
      rows.insert(rows.end(), step.rows().begin(), step.rows().end());
    }
    std::sort(rows.begin(), rows.end());
    std::fill_n(values_.data(), values_.size(), 0.0F);
    for (const std::uint32_t row : rows) std::fill_n(values_.data() + row * width_, width_, value);
    PayloadBuffer buffer;
    wire::Head head;
    wire::Push& push = *head.mutable_push();
    push.set_sequence(order.sequence());
    push.set_generation(generation_);
    push.set_loss_sum(static_cast<double>(rows.size()));
    push.set_compute(0.5);
    set_header(format_.write(rows, false, std::as_const(values_).span(), buffer.next()),
               *push.mutable_push());
    std::vector<Message> messages{message_of(head)};
    for (auto& chunk : buffer.chunks(order.sequence())) messages.push_back(std::move(chunk));
    return messages;
  }

  int rank_, process_ = 0;
  ModelUpdateFormat format_;
  std::size_t width_;  // of a feature's row
  FloatBuffer values_;
  DataFingerprint data_;
  SimulatedLink* link_ = nullptr;
  bool put_off_ = false;
  std::uint64_t generation_ = 0;
  wire::Order last_order_;
  std::vector<Message> last_push_;
};

/// The workers and their connections: all that happens outside the scheduler's thread.
class SimulatedWorkers {
 public:
  SimulatedWorkers(SimulatedTransport& transport, std::deque<SimulatedWorker> workers,
                   const FaultLimits& limits, Choices& choices)
      : transport_(transport), workers_(std::move(workers)), limits_(limits), choices_(choices) {}

  /// Ends all connections, as the coordinator's destructor expects.
  void end() {
    for (auto& link : transport_.links()) {
      if (!std::exchange(link.ended, true)) link.handler->ended("the test is over");
    }
  }
  /// Connects this worker and delivers all its messages.
  void join(std::size_t worker) {
    workers_[worker].connect(transport_);
    while (!workers_[worker].link().sent.empty()) deliver(workers_[worker].link());
  }

  using Event = std::function<void()>;
  /// What can happen now, without faults first.
  std::vector<Event> events() {
    std::vector<Event> events;
    for (auto& link : transport_.links()) {
      if (link.ended || (link.sent.empty() && !link.ends)) continue;
      events.emplace_back([this, &link] { deliver(link); });
    }
    for (auto& worker : workers_) {
      if (can_connect(worker)) events.emplace_back([this, &worker] { worker.connect(transport_); });
    }
    if (limits_.faults == 0) return events;
    for (auto& worker : workers_) add_faults(worker, events);
    return events;
  }
  /// Lets events happen between two calls of the scheduler's thread.
  void preempt() {
    while (limits_.preemptions > 0) {
      const auto now = events();
      const std::size_t choice = choices_.pick(now.size() + 1);
      if (choice == 0) return;
      const int faults = limits_.faults;
      now[choice - 1]();
      if (limits_.faults == faults) --limits_.preemptions;
    }
  }
  /// Whether a worker may have joined or may have been lost since the last call.
  bool take_changed() { return std::exchange(changed_, false); }
  /// Workers answer what the coordinator has sent.
  void read() {
    for (auto& link : transport_.links()) {
      if (!link.closed) continue;
      link.ends = true;
      link.sent.clear();
    }
    for (auto& worker : workers_) worker.read();
  }

 private:
  /// A worker that was put off tries again when lost connections have ended: each earlier try would
  /// be put off again.
  bool can_connect(const SimulatedWorker& worker) const {
    if (worker.connected() || !worker.put_off()) return !worker.connected();
    return std::none_of(transport_.links().begin(), transport_.links().end(),
                        [](const SimulatedLink& link) { return link.ends && !link.ended; });
  }
  void add_faults(SimulatedWorker& worker, std::vector<Event>& events) {
    if (!worker.connected()) return;
    const auto add = [&](void (SimulatedWorker::*fault)()) {
      events.emplace_back([this, &worker, fault] {
        --limits_.faults;
        (worker.*fault)();
      });
    };
    add(&SimulatedWorker::crash);
    if (limits_.only_crashes) return;
    add(&SimulatedWorker::disconnect);
    add(&SimulatedWorker::evict);
    add(&SimulatedWorker::leave);
    if (worker.can_resend()) add(&SimulatedWorker::resend);
    if (!worker.can_cut()) return;
    add(&SimulatedWorker::cut);
    add(&SimulatedWorker::spoil);
  }
  void deliver(SimulatedLink& link) {
    if (link.sent.empty()) {
      link.ended = true;
      changed_ = true;
      link.handler->ended("the connection is lost");
    } else {
      const auto messages = std::move(link.sent.front());
      link.sent.pop_front();
      try {
        changed_ = changed_ || head_of(messages.front()).has_ready();
        for (const Message& message : messages) link.handler->received(message);
      } catch (const Error&) {
        link.closed = true;  // as a transport does
      }
    }
    read();
  }

  SimulatedTransport& transport_;
  std::deque<SimulatedWorker> workers_;
  FaultLimits limits_;
  Choices& choices_;
  bool changed_ = false;
};

}  // namespace evener
