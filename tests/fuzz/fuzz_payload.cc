// Any bytes as frames of a connection, and as an update whose header may be wrong: read within the
// bounds of the model's vector, or refused with an Error.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "evener/cluster/transport/grpc/grpc_frame.h"
#include "evener/cluster/wire/model_update_format.h"
#include "evener/cluster/wire/wire.h"

namespace {

using namespace evener;

constexpr std::size_t kClaim = 5;  // bytes

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

/// The first bytes say what the header claims.
ModelUpdateHeader claim(std::span<const std::byte> bytes) {
  const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(bytes[i]); };
  ModelUpdateHeader header;
  header.places = static_cast<ModelUpdate::Places>(byte(0) % 3);
  header.some = (byte(0) & 8U) != 0;
  header.half = (byte(0) & 16U) != 0;
  header.rows = byte(1) % 12;
  header.labels = byte(2) % 5;
  header.picked = byte(3);
  header.bytes = (bytes.size() - kClaim) / (1 + byte(4) % 2);
  return header;
}

/// Scattered into a model's vector, in chunks.
void scatter(std::span<const std::byte> bytes) {
  if (bytes.size() < kClaim) return;
  const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(bytes[i]); };
  const Network network{.features = 9,
                        .hidden = {2},
                        .labels = 3,
                        .input = byte(4) % 8 == 7 ? Input::dense : Input::sparse};
  const ModelUpdateHeader header = claim(bytes);
  const auto kind = header.half   ? Compression::Kind::fp16
                    : header.some ? Compression::Kind::top_k
                                  : Compression::Kind::none;
  const auto shards = shards_of(network, 1 + byte(4) / 8 % 3);
  const ModelUpdateFormat format(shards.back(), {kind, 0.2});
  std::vector<float> to(layout_of(network).size);
  const std::size_t chunk = 1 + byte(0) % 40;
  bytes = bytes.subspan(kClaim);
  try {
    ModelUpdateReader reader(format, header, to);
    for (std::size_t at = 0; !bytes.empty() && !reader.complete();) {
      const std::size_t size = std::min(chunk, bytes.size());
      Message message;
      message.body.push_back(bytes.first(size / 2));
      message.body.push_back(bytes.subspan(size / 2, size - size / 2));
      reader.feed(at, message);
      at += size;
      bytes = bytes.subspan(size);
    }
    if (!reader.complete()) return;
    bool finite = true;
    const bool all = header.places == ModelUpdate::Places::all;
    format.layout().for_places(all, reader.rows(), {}, [&](std::size_t at, std::size_t n) {
      for (std::size_t i = at; i < at + n; ++i) finite = finite && std::isfinite(to[i]);
    });
    if (finite != reader.finite()) std::abort();
  } catch (const Error&) {
  }
}

/// Collected, and applied to a model.
void collect(std::span<const std::byte> bytes) {
  if (bytes.size() < kClaim) return;
  const ModelUpdateLayout layout({.features = 9, .hidden = {2}, .labels = 3});
  const ModelUpdateHeader header = claim(bytes);
  try {
    ModelUpdateReader reader(layout, header);
    Message message;
    message.body.push_back(bytes.subspan(kClaim, header.bytes));
    reader.feed(0, message);
    if (!reader.complete()) std::abort();
    const ModelUpdate update = reader.take();
    if (update.bytes() != header.bytes) std::abort();
    std::vector<std::byte> again;
    if (write_update(update, again).bytes != header.bytes) std::abort();
    if (update.places == ModelUpdate::Places::offered) return;
    std::vector<float> model(layout.size());
    layout.for_numbers(update, [&](std::size_t at, std::size_t i) {
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
    scatter(bytes.subspan(1));
  } else {
    collect(bytes.subspan(1));
  }
  return 0;
}
