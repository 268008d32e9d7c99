// Any bytes as packets of another MPI rank: read, or refused with an Error; and packets that are
// sent arrive unchanged. The calls of MPI are replaced by queues of this file.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

#include "tests/fuzz/fuzz_input.h"

#include "evener/cluster/transport/mpi/plugin/packets.h"
#include "evener/core/error.h"

namespace {

using Bytes = std::vector<std::byte>;
std::deque<Bytes> fronts, bodies;  // under way

void receive(void* to, int bytes, std::deque<Bytes>& from) {
  if (bytes < 0) std::abort();
  if (from.empty()) return;
  const std::size_t size = std::min(from.front().size(), static_cast<std::size_t>(bytes));
  std::copy_n(from.front().data(), size, static_cast<std::byte*>(to));
  from.pop_front();
}

}  // namespace

// The functions of MPI that packets.cc calls. Everything is done at once.
extern "C" {
int MPI_Test(MPI_Request* request, int* flag, MPI_Status* /*status*/) {
  *request = MPI_REQUEST_NULL;
  *flag = 1;
  return MPI_SUCCESS;
}
int MPI_Error_string(int /*code*/, char* /*text*/, int* length) {
  *length = 0;
  return MPI_SUCCESS;
}
int MPI_Isend(const void* data, int count, MPI_Datatype /*type*/, int /*to*/, int tag,
              MPI_Comm /*comm*/, MPI_Request* request) {
  const auto* bytes = static_cast<const std::byte*>(data);
  (tag == evener::mpi::kFrontTag ? fronts : bodies).emplace_back(bytes, bytes + count);
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}
int MPI_Imrecv(void* to, int count, MPI_Datatype /*type*/, MPI_Message* /*message*/,
               MPI_Request* request) {
  receive(to, count, fronts);
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}
int MPI_Irecv(void* to, int count, MPI_Datatype /*type*/, int /*from*/, int /*tag*/,
              MPI_Comm /*comm*/, MPI_Request* request) {
  receive(to, count, bodies);
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}
}

namespace {

using namespace evener;
using mpi::Packet;

Bytes as_bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Fronts and bodies of another program.
void receive_any(FuzzInput& input) {
  mpi::Incoming incoming(0, 1);
  std::vector<Packet> complete;
  while (!input.empty()) {
    // A front of the right length is likely: 24 bytes and the head.
    const std::string front = input.text(input.byte() % 2 == 0 ? 24 : input.byte());
    fronts.push_back(as_bytes_of(front));
    bodies.push_back(as_bytes_of(input.text(input.below(32))));
    try {
      incoming.add(0, static_cast<int>(front.size()));
      incoming.move(complete);
    } catch (const Error&) {  // the rank is lost
      return;
    }
  }
  for (const Packet& packet : complete) {
    if (packet.kind > Packet::Kind::failure) std::abort();
    if (packet.message.size() > 2 * kMostMessageBytes) std::abort();
  }
}

/// Packets that this program sends.
void send_and_receive(FuzzInput& input) {
  mpi::Outgoing outgoing(0, 1);
  mpi::Incoming incoming(0, 1);
  while (!input.empty()) {
    Packet packet;
    packet.kind = static_cast<Packet::Kind>(input.below(6));
    packet.connection = input.byte();
    packet.to_opener = input.byte() % 2 == 0;
    packet.message.head = input.text(input.below(40));
    const std::string body = input.text(input.below(40));
    const auto bytes = std::as_bytes(std::span(body));
    const std::size_t middle = bytes.size() * input.below(4) / 4;
    packet.message.body = {bytes.first(middle), bytes.subspan(middle)};
    outgoing.put(packet);
    outgoing.move();
    incoming.add(0, static_cast<int>(fronts.front().size()));
    std::vector<Packet> complete;
    incoming.move(complete);
    if (complete.size() != 1 || !outgoing.empty() || !incoming.empty()) std::abort();
    const Packet& again = complete.front();
    if (again.kind != packet.kind || again.connection != packet.connection ||
        again.to_opener != packet.to_opener || again.message.head != packet.message.head ||
        again.message.body_size() != body.size()) {
      std::abort();
    }
    for (const auto& piece : again.message.body) {
      if (std::memcmp(piece.data(), body.data(), piece.size()) != 0) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fronts.clear();
  bodies.clear();
  FuzzInput input(data, size);
  if (input.byte() % 2 == 0) {
    receive_any(input);
  } else {
    send_and_receive(input);
  }
  return 0;
}
