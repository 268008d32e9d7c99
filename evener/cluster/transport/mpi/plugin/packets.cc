#include "evener/cluster/transport/mpi/plugin/packets.h"

#include <cstring>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "evener/core/error.h"

namespace evener::mpi {

namespace {

/// The most packets to one rank that MPI has at a time. More would only fill its buffers.
constexpr std::size_t kUnderWay = 8;

struct Front {
  std::uint32_t kind, connection, to_opener, head_bytes;
  std::uint64_t body_bytes;
};

bool is_done(MPI_Request& request) {
  int done = 0;
  check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  return done != 0;
}

}  // namespace

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw Error(fmt::format("{}: {}", call, text.data()));
}

bool Outgoing::move() {
  bool moved = false;
  for (; !waiting_.empty() && under_way_.size() < kUnderWay; moved = true) {
    begin(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  while (!under_way_.empty()) {
    auto& requests = under_way_.front().requests;
    if (!is_done(requests[0]) || !is_done(requests[1])) break;
    under_way_.pop_front();
    moved = true;
  }
  return moved;
}

void Outgoing::begin(Packet packet) {
  Sent& sent = under_way_.emplace_back();
  sent.message = std::move(packet.message);
  const Message& message = sent.message;
  const Front front{static_cast<std::uint32_t>(packet.kind), packet.connection,
                    packet.to_opener ? 1U : 0U, static_cast<std::uint32_t>(message.head.size()),
                    message.body_size()};
  sent.front.resize(sizeof front + message.head.size());
  std::memcpy(sent.front.data(), &front, sizeof front);
  std::memcpy(sent.front.data() + sizeof front, message.head.data(), message.head.size());
  check(MPI_Isend(sent.front.data(), static_cast<int>(sent.front.size()), MPI_BYTE, to_, kFrontTag,
                  comm_, sent.requests.data()),
        "MPI_Isend");
  if (front.body_bytes == 0) return;
  const std::byte* body = nullptr;
  for (const auto& piece : message.body) {
    if (piece.size() == front.body_bytes) body = piece.data();
  }
  if (body == nullptr) {  // in several pieces
    sent.gathered.reserve(front.body_bytes);
    for (const auto& piece : message.body) {
      std::copy(piece.begin(), piece.end(), std::back_inserter(sent.gathered));
    }
    body = sent.gathered.data();
  }
  check(MPI_Isend(body, static_cast<int>(front.body_bytes), MPI_BYTE, to_, kBodyTag, comm_,
                  &sent.requests[1]),
        "MPI_Isend");
}

void Incoming::add(MPI_Message front, int bytes) {
  Coming& coming = coming_.emplace_back();
  coming.front.resize(static_cast<std::size_t>(bytes));
  check(MPI_Imrecv(coming.front.data(), bytes, MPI_BYTE, &front, &coming.request), "MPI_Imrecv");
}

bool Incoming::move(std::vector<Packet>& complete) {
  bool moved = false;
  // In order: the first body that is received is the first that was sent.
  for (auto& coming : coming_) {
    if (coming.has_front) continue;
    if (!is_done(coming.request)) break;
    read_front(coming);
    moved = true;
  }
  while (!coming_.empty() && coming_.front().has_front && is_done(coming_.front().request)) {
    complete.push_back(std::move(coming_.front().packet));
    coming_.pop_front();
    moved = true;
  }
  return moved;
}

void Incoming::read_front(Coming& coming) {
  Front front{};
  if (coming.front.size() < sizeof front) throw Error("a packet without its front");
  std::memcpy(&front, coming.front.data(), sizeof front);
  if (front.kind > static_cast<std::uint32_t>(Packet::Kind::failure) ||
      coming.front.size() - sizeof front != front.head_bytes ||
      front.body_bytes > kMostMessageBytes) {
    throw Error("a packet that this version does not know");
  }
  coming.has_front = true;
  Packet& packet = coming.packet;
  packet.kind = static_cast<Packet::Kind>(front.kind);
  packet.connection = front.connection;
  packet.to_opener = front.to_opener != 0;
  packet.message.head.resize(front.head_bytes);
  std::memcpy(packet.message.head.data(), coming.front.data() + sizeof front, front.head_bytes);
  if (front.body_bytes == 0) return;
  coming.body = std::make_shared<std::vector<std::byte>>(front.body_bytes);
  packet.message.body = {std::span<const std::byte>(*coming.body)};
  packet.message.owner = coming.body;
  check(MPI_Irecv(coming.body->data(), static_cast<int>(front.body_bytes), MPI_BYTE, from_,
                  kBodyTag, comm_, &coming.request),
        "MPI_Irecv");
}

}  // namespace evener::mpi
