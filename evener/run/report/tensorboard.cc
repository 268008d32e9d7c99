// TensorBoard's event files: records framed as in TFRecord, each a protobuf `Event`. The handful of
// fields that scalars need is encoded by hand; field numbers are those of tensorflow's
// event.proto and summary.proto.
#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "evener/run/artifacts/append_file.h"
#include "evener/run/report/sinks.h"

namespace evener {

namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie");

constexpr std::array<std::uint32_t, 256> crc32c_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1U) != 0 ? 0x82F63B78U : 0U);
    table[i] = crc;
  }
  return table;
}

/// CRC-32C (Castagnoli), masked as TFRecord does so that a CRC over data with CRCs stays strong.
std::uint32_t masked_crc(std::string_view data) {
  static constexpr auto kTable = crc32c_table();
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char c : data) crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFFU] ^ crc >> 8;
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xA282EAD8U;
}

template <class T>
std::string raw(T value) {
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80U);
  return bytes + static_cast<char>(value);
}

// A field is its number and wire type (0 varint, 1 eight bytes, 2 length-delimited, 5 four bytes).
std::string field(unsigned number, unsigned wire, const std::string& payload) {
  return varint(number << 3U | wire) + payload;
}
std::string nested(unsigned number, const std::string& content) {
  return field(number, 2, varint(content.size()) + content);
}

std::string event(double wall_time, std::uint64_t step, const std::string& content) {
  return field(1, 1, raw(wall_time)) + field(2, 0, varint(step)) + content;
}
std::string file_version() {
  return nested(3, "brain.Event:2");
}
/// A SessionLog with the status START.
std::string session_start() {
  return nested(7, field(1, 0, varint(1)));
}
std::string scalar(const std::string& tag, float value) {
  return nested(1, nested(1, tag) + field(2, 5, raw(value)));
}

std::string framed(const std::string& data) {
  const std::string length = raw(static_cast<std::uint64_t>(data.size()));
  return length + raw(masked_crc(length)) + data + raw(masked_crc(data));
}

double now() {
  using std::chrono::system_clock;
  return std::chrono::duration<double>(system_clock::now().time_since_epoch()).count();
}

/// TensorBoard reads the files of a folder in the order of their names, hence the leading time.
std::string new_event_file(const std::string& directory) {
  std::error_code ignored;  // opening the file reports the failure
  std::filesystem::create_directories(directory, ignored);
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host = {"host"};
  for (int i = 0;; ++i) {
    std::string path = fmt::format("{}/events.out.tfevents.{:010}.{}.{}.{}", directory,
                                   static_cast<std::int64_t>(now()), host.data(), getpid(), i);
    if (!std::filesystem::exists(path, ignored)) return path;
  }
}

class TensorboardSink final : public Sink {
 public:
  TensorboardSink(const std::string& directory, std::optional<std::uint64_t> resumed_at)
      : file_(new_event_file(directory)) {
    file_.append(framed(event(now(), 0, file_version())));
    if (resumed_at) file_.append(framed(event(now(), *resumed_at, session_start())));
  }

  void write(const Record& record) override {
    std::string values;
    const std::string prefix = record.worker.empty() ? "" : record.worker + "/";
    for (const auto& [name, value] : record.fields) {
      const std::string tag = record.kind + "/" + prefix + name;
      if (const auto* number = std::get_if<double>(&value)) {
        values += scalar(tag, static_cast<float>(*number));
      } else if (const auto* whole = std::get_if<std::int64_t>(&value)) {
        values += scalar(tag, static_cast<float>(*whole));
      }
    }
    if (!values.empty()) file_.append(framed(event(now(), record.step, nested(5, values))));
  }
  void flush() override {}  // every event is written at once
  std::string take_warning() override { return file_.take_warning(); }

 private:
  AppendFile file_;
};

}  // namespace

std::unique_ptr<Sink> make_tensorboard_sink(const std::string& directory,
                                            std::optional<std::uint64_t> resumed_at) {
  return std::make_unique<TensorboardSink>(directory, resumed_at);
}

}  // namespace evener
