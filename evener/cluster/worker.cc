#include "evener/cluster/worker.h"

#include <chrono>
#include <deque>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "evener/cluster/inbox.h"
#include "evener/cluster/node_memories.h"
#include "evener/cluster/pulse.h"
#include "evener/cluster/source.h"
#include "evener/cluster/visits.h"

namespace evener {

namespace {

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
        channel_(options.transport->connect(options.coordinator, std::make_shared<Inbox>(mail_))) {
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

  /// `why` tells of a loss.
  VisitEnd run(std::string& why) {
    for (;;) {
      const auto mail = mail_.get_within(kLook);
      if (options_.interrupted && options_.interrupted() != 0) {
        say_farewell();
        return VisitEnd::signal;
      }
      if (!server_gone_.empty() && since_gone_.elapsed() > kFarewell) {
        why = server_gone_;
        return VisitEnd::lost;
      }
      if (!mail) {
        const Seconds silence = heard_.elapsed();
        if (silence < (welcomed_ ? evict_ : kAnswer)) continue;
        why = fmt::format("no sign of life for {:.0f} s", silence);
        return VisitEnd::lost;
      }
      if (const std::string* end = mail->end()) {
        why = *end;
        if (mail->from == 0) return VisitEnd::lost;
        if (server_gone_.empty()) since_gone_ = {};
        server_gone_ = fmt::format("server {}: {}", mail->from - 1, *end);
        continue;
      }
      if (mail->from == 0) heard_ = {};
      if (!take(mail->from, mail->message())) return end_;
      if (!put_off_.empty()) {
        why = put_off_;
        return VisitEnd::put_off;
      }
    }
  }
  bool welcomed() const { return welcomed_; }

 private:
  // A server that is gone is mostly one that was told sooner that the run is over.
  static constexpr Seconds kFarewell = 2;

  /// False: the run is over.
  bool take(int from, const Message& message) {
    const wire::Head head = head_of(message);
    switch (head.kind_case()) {
      case wire::Head::kWelcome:
        settle_in(head.welcome());
        return true;
      case wire::Head::kRefusal:
        if (head.refusal().later()) {
          put_off_ = head.refusal().why();
          return true;
        }
        throw Error(fmt::format("the coordinator refuses this worker: {}", head.refusal().why()));
      case wire::Head::kOrder:
        if (sources_.empty()) {
          throw Error("the coordinator asks before it has said what is trained");
        }
        if (from == 0) order_ = head.order();
        if (Source* source = source_of(from)) {
          source->begin(head.order(), memory_.work.replica->pulled());
        }
        do_order_when_all_is_there();
        return true;
      case wire::Head::kRecall:
        for (auto& part :
             messages_of(memory_.work.replica->memory(head.recall().applied()), memory_format())) {
          channel_->send(std::move(part));
        }
        return true;
      case wire::Head::kMemory:
        if (!remembered_) remembered_.emplace(memory_format());
        if (remembered_->begin(head.memory())) remember();
        return true;
      case wire::Head::kChunk:
        if (from == 0 && remembered_) {
          if (remembered_->feed(head.chunk(), message)) remember();
          return true;
        }
        if (Source* source = source_of(from)) source->feed(head.chunk(), message);
        do_order_when_all_is_there();
        return true;
      case wire::Head::kFarewell:
        options_.say(head.farewell().why());
        end_ = head.farewell().failed() ? VisitEnd::failed : VisitEnd::over;
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
    Job job = job_of(welcome);
    const int place = static_cast<int>(welcome.node());
    // One that only lost its connection has everything already.
    if (!memory_.work.replica || job.options != memory_.job.options ||
        job.batch != memory_.job.batch || place != memory_.place) {
      memory_.work = make_(job, place);
      memory_.job = std::move(job);
      memory_.place = place;
    }
    push_ = FloatBuffer(layout_of(memory_.work.network).size);
    memory_format_.emplace(memory_.work.network, Compression{});
    find_sources(welcome);
    wire::Head head;
    head.mutable_ready()->set_most_rows(memory_.work.most_rows);
    set_print(memory_.work.data, *head.mutable_ready()->mutable_data());
    channel_->send(message_of(head));
    options_.say(fmt::format("joined as node {}", place));
  }

  const PayloadFormat& memory_format() {
    if (!memory_format_) throw Error("the coordinator asks before it has said what is trained");
    return *memory_format_;
  }
  void remember() {
    memory_.work.replica->remember(remembered_->take());
    remembered_.reset();
  }

  void find_sources(const wire::Welcome& welcome) {
    const NodeWork& work = memory_.work;
    servers_ = welcome.servers_size();
    if (servers_ == 0) sources_.emplace_back(channel_, whole_shard(work.network), work.compression);
    const auto shards = shards_of(work.network, static_cast<std::size_t>(servers_));
    for (int i = 0; i < servers_; ++i) {
      auto channel =
          options_.transport->connect(welcome.servers(i), std::make_shared<Inbox>(mail_, i + 1));
      wire::Head head;
      wire::Visitor& visitor = *head.mutable_visitor();
      visitor.set_protocol(kProtocol);
      visitor.set_token(options_.token);
      visitor.set_node(welcome.node());
      visitor.set_generation(generation_);
      channel->send(message_of(head));
      sources_.emplace_back(std::move(channel), shards[static_cast<std::size_t>(i)],
                            work.compression);
    }
  }
  /// Null: the coordinator has no shard.
  Source* source_of(int from) {
    const int index = servers_ == 0 ? 0 : from - 1;
    return index < 0 || sources_.empty() ? nullptr : &sources_[static_cast<std::size_t>(index)];
  }

  void do_order_when_all_is_there() {
    for (const auto& source : sources_) {
      if (!source.has(order_.sequence())) return;
    }
    do_order();
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
      Pull pull;
      for (auto& source : sources_) source.add_to(pull);
      memory_.work.replica->take(pull, task);
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
    for (auto& source : sources_) source.push(head, rows, std::as_const(push_).span());
    if (servers_ > 0) channel_->send(message_of(head));  // what only the coordinator has to know
  }

  void say_farewell() {
    wire::Head head;
    head.mutable_farewell()->set_why("it was told to go");
    channel_->send(message_of(head));
    drain(mail_);
  }

  const WorkerOptions& options_;
  const MakeNodeWork& make_;
  Memory& memory_;
  MailQueue mail_;  // from the coordinator, 0, and from its servers
  std::shared_ptr<Channel> channel_;
  std::optional<Pulse> pulse_;
  Stopwatch heard_;
  bool welcomed_ = false;
  std::uint64_t generation_ = 0;
  Seconds evict_ = 0;
  int servers_ = 0;
  std::deque<Source> sources_;
  std::string put_off_;      // why there is no place now
  std::string server_gone_;  // which and why
  Stopwatch since_gone_;
  wire::Order order_;
  FloatBuffer push_;
  std::optional<PayloadFormat> memory_format_;
  std::optional<MemoryReader> remembered_;  // what the coordinator has kept for it
  VisitEnd end_ = VisitEnd::over;           // as the farewell says
};

}  // namespace

int run_worker(const WorkerOptions& options, const MakeNodeWork& make) {
  Memory memory;
  return visit_until_over({options.coordinator, options.patience, options.interrupted, options.say},
                          [&](std::string& why, bool& useful) {
                            Visit visit(options, make, memory);
                            const VisitEnd end = visit.run(why);
                            useful = visit.welcomed();
                            return end;
                          });
}

std::string ask_status(Transport& transport, const std::string& coordinator,
                       const std::string& token) {
  MailQueue queue;
  const auto channel = transport.connect(coordinator, std::make_shared<Inbox>(queue));
  wire::Head question;
  question.mutable_status_request()->set_token(token);
  channel->send(message_of(question));
  std::string why = "no answer";
  const Stopwatch waited;
  while (waited.elapsed() < kAnswer) {
    const auto mail = queue.get_within(kLook);
    if (!mail) continue;
    if (const std::string* end = mail->end()) {
      why = *end;
      break;
    }
    const wire::Head answer = head_of(mail->message());
    if (answer.has_status()) return answer.status().json();
    if (!answer.has_refusal()) continue;  // a sign of life
    why = answer.refusal().why();
    break;
  }
  throw Error(fmt::format("{}: {}", coordinator, with_hint(why)));
}

}  // namespace evener
