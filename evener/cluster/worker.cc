#include "evener/cluster/worker.h"

#include <chrono>
#include <thread>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "evener/cluster/pulse.h"
#include "evener/cluster/wire.h"
#include "evener/core/mailbox.h"

namespace evener {

namespace {

constexpr Seconds kLook = 0.1;   // how often signals and silence are looked at
constexpr Seconds kPause = 0.5;  // before the next try
constexpr Seconds kMoment = 1;   // for a conversation to end when it was closed
constexpr Seconds kAnswer = 10;  // to be answered by who listens there

struct Ended {
  std::string why;
};
using Mail = std::variant<Message, Ended>;

/// Carries what the transport's threads bring to the worker's own.
class Inbox final : public Handler {
 public:
  void received(Message message) override { mail.put(std::move(message)); }
  void ended(const std::string& why) override { mail.put(Ended{why}); }

  /// Until the conversation has ended, or a moment has passed.
  void drain() {
    while (const auto last = mail.get_within(kMoment)) {
      if (std::holds_alternative<Ended>(*last)) return;
    }
  }

  Mailbox<Mail> mail;
};

/// What outlives a broken connection.
struct Memory {
  NodeWork work;
  Job job;
  int place = -1;
};

/// One conversation, from hello to its end.
class Visit {
 public:
  Visit(const WorkerOptions& options, const MakeNodeWork& make, Memory& memory)
      : options_(options),
        make_(make),
        memory_(memory),
        inbox_(std::make_shared<Inbox>()),
        channel_(connect(options.coordinator, options.tls, inbox_)) {
    wire::Head head;
    wire::Hello& hello = *head.mutable_hello();
    hello.set_protocol(kProtocol);
    hello.set_token(options.token);
    hello.set_name(options.name);
    hello.set_rank(options.rank);
    channel_->send(message_of(head));
  }
  ~Visit() {
    pulse_.reset();
    channel_->close("the worker leaves");
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  enum class End { over, lost, signal };
  /// `why` tells of a loss.
  End run(std::string& why) {
    for (;;) {
      const auto mail = inbox_->mail.get_within(kLook);
      if (options_.interrupted && options_.interrupted() != 0) {
        say_farewell();
        return End::signal;
      }
      if (!mail) {
        const Seconds silence = heard_.elapsed();
        if (silence < (welcomed_ ? evict_ : kAnswer)) continue;
        why = fmt::format("no sign of life for {:.0f} s", silence);
        return End::lost;
      }
      if (const auto* ended = std::get_if<Ended>(&*mail)) {
        why = ended->why;
        return End::lost;
      }
      heard_ = {};
      if (!take(std::get<Message>(*mail))) return End::over;
    }
  }
  bool welcomed() const { return welcomed_; }

 private:
  /// False: the run is over.
  bool take(const Message& message) {
    const wire::Head head = head_of(message);
    switch (head.kind_case()) {
      case wire::Head::kWelcome:
        settle_in(head.welcome());
        return true;
      case wire::Head::kRefusal:
        throw Error(fmt::format("the coordinator refuses this worker: {}", head.refusal().why()));
      case wire::Head::kOrder:
        take_order(head.order());
        return true;
      case wire::Head::kChunk:
        if (!reader_ || head.chunk().sequence() != order_.sequence()) return true;
        reader_->feed(head.chunk().offset(), message);
        if (reader_->complete()) do_order();
        return true;
      case wire::Head::kFarewell:
        options_.say(head.farewell().why());
        return false;
      default:
        return true;  // a sign of life
    }
  }

  void settle_in(const wire::Welcome& welcome) {
    welcomed_ = true;
    generation_ = welcome.generation();
    evict_ = welcome.evict();
    pulse_.emplace(*channel_, welcome.heartbeat());
    Job job;
    for (const auto& [name, text] : welcome.options()) job.options[name] = text;
    job.data = print_of(welcome.data());
    job.batch = welcome.batch();
    const int place = static_cast<int>(welcome.node());
    // One that only lost its connection has everything already.
    if (!memory_.work.replica || job.options != memory_.job.options ||
        job.batch != memory_.job.batch || place != memory_.place) {
      memory_.work = make_(job, place);
      memory_.job = std::move(job);
      memory_.place = place;
    }
    pull_format_.emplace(memory_.work.network, Compression{});
    push_format_.emplace(memory_.work.network, memory_.work.compression);
    push_ = FloatBuffer(pull_format_->size());
    wire::Head head;
    head.mutable_ready()->set_most_rows(memory_.work.most_rows);
    set_print(memory_.work.data, *head.mutable_ready()->mutable_data());
    channel_->send(message_of(head));
    options_.say(fmt::format("joined as node {}", place));
  }

  void take_order(const wire::Order& order) {
    if (!pull_format_) throw Error("the coordinator asks before it has said what is trained");
    order_ = order;
    reader_.emplace(*pull_format_, header_of(order.pull()), memory_.work.replica->pulled());
  }

  void do_order() {
    Task task;
    for (const auto& step : order_.steps()) {
      const std::span rows(step.rows().data(), static_cast<std::size_t>(step.rows_size()));
      task.parts.push_back({{rows, rows.size(), 0}, {step.number(), step.learning_rate()}});
    }
    wire::Head head;
    wire::Push& push = *head.mutable_push();
    push.set_sequence(order_.sequence());
    push.set_generation(generation_);
    try {
      const Stopwatch watch;
      memory_.work.replica->take({reader_->header().whole, order_.applied(), reader_->rows()},
                                 task);
      reader_.reset();
      push.set_loss_sum(memory_.work.replica->train(task));
      if (options_.speed < 1) {  // emulated slowness: the rest of the time is slept
        const Seconds rest = watch.elapsed() * (1 / options_.speed - 1);
        std::this_thread::sleep_for(std::chrono::duration<Seconds>(rest));
      }
      push.set_compute(watch.elapsed());
      memory_.work.replica->difference(push_.span());
    } catch (const DeviceError& problem) {
      push.set_failure(problem.what());
      channel_->send(message_of(head));
      throw;
    }
    const auto& rows = memory_.work.replica->changed();
    set_header(push_format_->header(rows.size(), false), *push.mutable_push());
    channel_->send(message_of(head));
    push_format_->write(rows, false, push_.span(), payload_.next());
    for (auto& chunk : payload_.chunks(order_.sequence())) channel_->send(std::move(chunk));
  }

  void say_farewell() {
    wire::Head head;
    head.mutable_farewell()->set_why("it was told to go");
    channel_->send(message_of(head));
    inbox_->drain();
  }

  const WorkerOptions& options_;
  const MakeNodeWork& make_;
  Memory& memory_;
  std::shared_ptr<Inbox> inbox_;
  std::shared_ptr<Channel> channel_;
  std::optional<Pulse> pulse_;
  Stopwatch heard_;
  bool welcomed_ = false;
  std::uint64_t generation_ = 0;
  Seconds evict_ = 0;
  std::optional<PayloadFormat> pull_format_, push_format_;
  std::optional<PayloadReader> reader_;
  wire::Order order_;
  FloatBuffer push_;
  PayloadBuffer payload_;
};

}  // namespace

int run_worker(const WorkerOptions& options, const MakeNodeWork& make) {
  Memory memory;
  Stopwatch since_contact;
  for (bool told = false;;) {
    std::string why;
    Visit visit(options, make, memory);
    switch (visit.run(why)) {
      case Visit::End::over:
        return 0;
      case Visit::End::signal:
        return options.interrupted();
      case Visit::End::lost:
        break;
    }
    if (visit.welcomed()) {
      since_contact = {};
      told = false;
    }
    if (since_contact.elapsed() > options.patience) {
      throw Error(fmt::format("{}: no coordinator for {:g} s: {}", options.coordinator,
                              options.patience, why));
    }
    if (!told) options.say(fmt::format("{}: {}; trying again", options.coordinator, why));
    told = true;
    std::this_thread::sleep_for(std::chrono::duration<Seconds>(kPause));
    if (options.interrupted && options.interrupted() != 0) return options.interrupted();
  }
}

std::string ask_status(const std::string& coordinator, const Tls& tls, const std::string& token) {
  const auto inbox = std::make_shared<Inbox>();
  const auto channel = connect(coordinator, tls, inbox);
  wire::Head question;
  question.mutable_status_request()->set_token(token);
  channel->send(message_of(question));
  std::string why = "no answer";
  const Stopwatch waited;
  while (waited.elapsed() < kAnswer) {
    const auto mail = inbox->mail.get_within(kLook);
    if (!mail) continue;
    if (const auto* ended = std::get_if<Ended>(&*mail)) {
      why = ended->why;
      break;
    }
    const wire::Head answer = head_of(std::get<Message>(*mail));
    if (answer.has_status()) return answer.status().json();
    if (!answer.has_refusal()) continue;  // a sign of life
    why = answer.refusal().why();
    break;
  }
  throw Error(fmt::format("{}: {}", coordinator, why));
}

}  // namespace evener
