#include "evener/cluster/parameter_server/worker_states.h"

#include <algorithm>
#include <utility>

namespace evener {

namespace {

constexpr std::size_t kMostVectors = 8;

WorkerState copy_of(const WorkerState& memory) {
  WorkerState copy;
  for (const FloatBuffer& vector : memory) {
    std::copy_n(vector.data(), vector.size(), copy.emplace_back(vector.size()).data());
  }
  return copy;
}

}  // namespace

std::vector<Message> messages_of(const WorkerState& memory, const PayloadFormat& format) {
  std::vector<Message> messages;
  wire::Head head;
  wire::WorkerState& said = *head.mutable_worker_state();
  said.set_vectors(static_cast<std::uint32_t>(memory.size()));
  if (memory.empty()) messages.push_back(message_of(head));
  for (const FloatBuffer& vector : memory) {
    auto bytes = std::make_shared<std::vector<std::byte>>();
    set_header(format.write({}, true, vector.span(), *bytes), *said.mutable_payload());
    messages.push_back(message_of(head));
    for (auto& chunk : chunks_of(bytes, 0)) messages.push_back(std::move(chunk));
  }
  return messages;
}

bool WorkerStateReader::begin(const wire::WorkerState& head) {
  if (reader_ || head.vectors() > kMostVectors || state_.size() > head.vectors()) {
    throw Error("a memory that cannot be one");
  }
  vectors_ = head.vectors();
  if (vectors_ == 0) return true;
  const PayloadHeader header = header_of(head.payload());
  if (!header.whole) throw Error("a memory with parts of a vector");
  format_.check(header);
  state_.emplace_back(format_.shard().size());
  reader_ = std::make_unique<PayloadReader>(format_, header, state_.back().span());
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
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    node.memory.clear();
    if (node.pending) node.memory = copy_of(*node.pending);  // it has not been told yet
    if (!node.channel || node.pending) continue;
    node.reader.emplace(*format_);
    wire::Head head;
    head.mutable_fetch_worker_state()->set_applied(applied[i] != 0);
    node.channel->send(message_of(head));
  }
  // A node that is silent is closed by the heartbeats, which ends this wait.
  changed_.wait(lock, [this] {
    return std::none_of(nodes_.begin(), nodes_.end(),
                        [](const Node& node) { return !!node.reader; });
  });
  std::vector<WorkerState> worker_states;
  for (auto& node : nodes_) worker_states.push_back(std::exchange(node.memory, {}));
  return worker_states;
}

void WorkerStates::remember(std::vector<WorkerState> worker_states) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_[i].pending = std::move(worker_states[i]);
}

void WorkerStates::join(int node, std::shared_ptr<Channel> channel) {
  const std::lock_guard lock(mutex_);
  at(node).channel = std::move(channel);
}

void WorkerStates::leave(int node) {
  const std::lock_guard lock(mutex_);
  at(node).channel.reset();
  finish(at(node));
}

void WorkerStates::tell(int node, Channel& to) {
  std::optional<WorkerState> memory;
  {
    const std::lock_guard lock(mutex_);
    memory = std::exchange(at(node).pending, std::nullopt);
  }
  if (!memory) return;
  for (auto& message : messages_of(*memory, *format_)) to.send(std::move(message));
}

void WorkerStates::worker_state_arrived(int node, const wire::WorkerState& memory) {
  const std::lock_guard lock(mutex_);
  Node& from = at(node);
  if (!from.reader) throw Error("it sends what nobody asked for");
  if (from.reader->begin(memory)) finish(from);
}

bool WorkerStates::chunk(int node, const wire::Chunk& chunk, const Message& message) {
  const std::lock_guard lock(mutex_);
  Node& from = at(node);
  if (!from.reader || !from.reader->reads()) return false;
  if (from.reader->feed(chunk, message)) {
    from.memory = from.reader->take();
    finish(from);
  }
  return true;
}

void WorkerStates::finish(Node& node) {
  node.reader.reset();
  changed_.notify_all();
}

}  // namespace evener
