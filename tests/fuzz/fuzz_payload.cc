// Any bytes as frames of a conversation, and as a payload or a update that lies about itself: taken
// apart within the model's vector, or refused with an Error, and nothing else.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "evener/cluster/transport/grpc_frame.h"
#include "evener/cluster/wire/model_update_format.h"
#include "evener/cluster/wire/payload.h"
#include "evener/cluster/wire/wire.h"

namespace {

using namespace evener;

void read_frame(std::span<const std::byte> bytes) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  const grpc::ByteBuffer frame(&slice, 1);
  const auto message = from_frame(frame);
  if (!message) return;
  if (message->head.size() + message->body_size() + 4 != bytes.size()) std::abort();
  try {
    const wire::Head head = head_of(*message);
    if (head_of(message_of(head)).kind_case() != head.kind_case()) std::abort();
  } catch (const Error&) {
  }
}

/// The first bytes say what it claims to be, the others are cut into chunks by what they hold.
void read_payload(std::span<const std::byte> bytes) {
  if (bytes.size() < 4) return;
  const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(bytes[i]); };
  const Network network{.features = 9,
                        .hidden = {2},
                        .labels = 3,
                        .input = byte(0) % 4 == 3 ? Input::dense : Input::sparse};
  const Compression compression{static_cast<Compression::Kind>(byte(0) % 3), 0.2};
  const auto shards = shards_of(network, 1 + byte(3) % 3);
  const PayloadFormat format(shards.back(), compression);
  PayloadHeader header{byte(1) % 12, byte(2) % 5 == 0, 0};
  const std::size_t numbers = format.numbers(header.rows, header.whole);
  header.bytes = header.rows * 4 + numbers * (compression.kind == Compression::Kind::fp16 ? 2 : 4);
  if (byte(2) % 7 == 0) header.bytes += byte(3);
  std::vector<float> to(layout_of(network).size);
  bytes = bytes.subspan(4);
  try {
    PayloadReader reader(format, header, to);
    for (std::size_t at = 0; !bytes.empty() && !reader.complete();) {
      const std::size_t size = std::min<std::size_t>(1 + byte(0) % 40, bytes.size());
      Message message;
      message.body.push_back(bytes.first(size / 2));
      message.body.push_back(bytes.subspan(size / 2, size - size / 2));
      reader.feed(at, message);
      at += size;
      bytes = bytes.subspan(size);
    }
    if (!reader.complete()) return;
    bool finite = true;
    format.for_places(reader.rows(), header.whole, [&](std::size_t at, std::size_t n) {
      for (std::size_t i = at; i < at + n; ++i) finite = finite && std::isfinite(to[i]);
    });
    if (finite != reader.finite()) std::abort();
  } catch (const Error&) {
  }
}

/// The same of gossiping peers.
void read_update(std::span<const std::byte> bytes) {
  if (bytes.size() < 5) return;
  const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(bytes[i]); };
  const ModelUpdateLayout map({.features = 9, .hidden = {2}, .labels = 3});
  ModelUpdateHeader header;
  header.places = static_cast<ModelUpdate::Places>(byte(0) % 3);
  header.some = (byte(0) & 8U) != 0;
  header.half = (byte(0) & 16U) != 0;
  header.rows = byte(1) % 12;
  header.labels = byte(2) % 5;
  header.picked = byte(3);
  header.bytes = (bytes.size() - 5) / (1 + byte(4) % 2);
  bytes = bytes.subspan(5);
  try {
    ModelUpdateReader reader(map, header);
    Message message;
    message.body.push_back(bytes.first(header.bytes));
    if (!reader.feed(0, message)) return;
    const ModelUpdate update = reader.update();
    if (update.bytes() != header.bytes) std::abort();
    std::vector<std::byte> again;
    write_update(update, again);
    if (again.size() != header.bytes) std::abort();
    if (update.places == ModelUpdate::Places::offered) return;
    std::vector<float> model(map.size());
    map.for_numbers(update, [&](std::size_t at, std::size_t i) {
      if (at >= model.size() || i >= update.values.size()) std::abort();
      model[at] += update.values[i];
    });
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (size == 0) return 0;
  if (data[0] % 2 == 0) {
    read_frame(bytes.subspan(1));
  } else if (data[0] % 4 == 1) {
    read_payload(bytes.subspan(1));
  } else {
    read_update(bytes.subspan(1));
  }
  return 0;
}
