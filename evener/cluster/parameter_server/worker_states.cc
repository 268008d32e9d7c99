#include "evener/cluster/parameter_server/worker_states.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace evener {

namespace {

constexpr std::size_t kMostVectors = 8;

WorkerState copy_of(const WorkerState& state) {
  WorkerState copy;
  for (const FloatBuffer& vector : state) {
    std::copy_n(vector.data(), vector.size(), copy.emplace_back(vector.size()).data());
  }
  return copy;
}

}  // namespace

std::vector<Message> messages_of(const WorkerState& state, const ModelUpdateFormat& format) {
  std::vector<Message> messages;
  wire::Head head;
  wire::WorkerState& message = *head.mutable_worker_state();
  message.set_vectors(static_cast<std::uint32_t>(state.size()));
  if (state.empty()) messages.push_back(message_of(head));
  for (const FloatBuffer& vector : state) {
    auto bytes = std::make_shared<std::vector<std::byte>>();
    set_header(format.write({}, true, vector.span(), *bytes), *message.mutable_vector());
    messages.push_back(message_of(head));
    for (auto& chunk : chunks_of(bytes, 0)) messages.push_back(std::move(chunk));
  }
  return messages;
}

bool WorkerStateReader::begin(const wire::WorkerState& head) {
  if (reader_ || head.vectors() > kMostVectors || state_.size() > head.vectors()) {
    throw Error("a worker state with too many vectors");
  }
  vectors_ = head.vectors();
  if (vectors_ == 0) return true;
  const ModelUpdateHeader header = header_of(head.vector());
  if (!header.whole()) throw Error("a worker state with a part of a vector");
  format_.check(header);
  state_.emplace_back(format_.layout().size());
  reader_.emplace(format_, header, state_.back().span());
  return false;
}

bool WorkerStateReader::feed(const wire::Chunk& chunk, const Message& message) {
  reader_->feed(chunk.offset(), message);
  if (!reader_->complete()) return false;
  finite_ = finite_ && reader_->finite();
  reader_.reset();
  return complete();
}

WorkerState WorkerStateReader::take() {
  return finite_ ? std::move(state_) : WorkerState{};
}

void WorkerStates::begin(const Network& network) {
  const std::lock_guard lock(mutex_);
  format_.emplace(network, Compression{});
}

std::vector<WorkerState> WorkerStates::fetch(const std::vector<char>& applied) {
  std::unique_lock lock(mutex_);
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    Worker& worker = workers_[i];
    worker.state.clear();
    if (worker.pending) worker.state = copy_of(*worker.pending);  // it has not been restored yet
    if (!worker.channel || worker.pending) continue;
    worker.reader.emplace(*format_);
    wire::Head head;
    head.mutable_fetch_worker_state()->set_applied(applied[i] != 0);
    worker.channel->send(message_of(head));
  }
  const auto all_answered = [this] {
    return std::none_of(workers_.begin(), workers_.end(),
                        [](const Worker& worker) { return !!worker.reader; });
  };
  // The heartbeats close the connection of a worker that is silent or hangs, which ends this wait.
  AnswerDeadline deadline(grace_, kMostVectors * format_->layout().size() * sizeof(float));
  while (!changed_.wait_for(lock, std::chrono::milliseconds(100), all_answered)) {
    if (!deadline.passed()) continue;
    for (Worker& worker : workers_) {
      if (!worker.reader) continue;
      worker.channel->close("it did not send its state when the run was interrupted");
      worker.reader.reset();
    }
  }
  std::vector<WorkerState> states;
  for (auto& worker : workers_) states.push_back(std::exchange(worker.state, {}));
  return states;
}

void WorkerStates::set(std::vector<WorkerState> states) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < workers_.size(); ++i) workers_[i].pending = std::move(states[i]);
}

void WorkerStates::join(int worker, std::shared_ptr<Channel> channel) {
  const std::lock_guard lock(mutex_);
  at(worker).channel = std::move(channel);
}

void WorkerStates::leave(int worker) {
  const std::lock_guard lock(mutex_);
  at(worker).channel.reset();
  finish(at(worker));
}

void WorkerStates::restore(int worker, Channel& to) {
  std::optional<WorkerState> state;
  {
    const std::lock_guard lock(mutex_);
    state = std::exchange(at(worker).pending, std::nullopt);
  }
  if (!state) return;
  for (auto& message : messages_of(*state, *format_)) to.send(std::move(message));
}

void WorkerStates::arrived(int worker, const wire::WorkerState& state) {
  const std::lock_guard lock(mutex_);
  Worker& from = at(worker);
  if (!from.reader) throw Error("it sends a state without a request");
  if (from.reader->begin(state)) finish(from);
}

bool WorkerStates::chunk(int worker, const wire::Chunk& chunk, const Message& message) {
  const std::lock_guard lock(mutex_);
  Worker& from = at(worker);
  if (!from.reader || !from.reader->reads()) return false;
  if (from.reader->feed(chunk, message)) {
    from.state = from.reader->take();
    finish(from);
  }
  return true;
}

void WorkerStates::finish(Worker& worker) {
  worker.reader.reset();
  changed_.notify_all();
}

}  // namespace evener
