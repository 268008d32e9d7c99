#include "evener/run/artifacts/tensor_header.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include "evener/core/error.h"

namespace evener {

namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

using nlohmann::json;
using Entry = TensorFile::Entry;

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMaxHeader = 100'000'000;  // the limit of the safetensors package
constexpr std::size_t kMaxRank = 16;
constexpr std::string_view kHashKey = "\"xxh3\":\"";
constexpr std::size_t kHashDigits = 16;

/// Parses the JSON as a stream of events and stores only valid header fields, so that a hostile
/// file cannot use more memory than its own text.
class HeaderReader {
 public:
  HeaderReader(TensorHeader& header, std::string path) : header_(header), path_(std::move(path)) {}

  using number_integer_t = json::number_integer_t;
  using number_unsigned_t = json::number_unsigned_t;
  using number_float_t = json::number_float_t;
  using string_t = json::string_t;
  using binary_t = json::binary_t;

  bool start_object(std::size_t) {
    if (level_ == Level::outside) {
      level_ = Level::names;
    } else if (level_ == Level::names) {
      level_ = key_ == "__metadata__" ? Level::metadata : Level::entry;
      fields_ = 0;
    } else {
      refuse("unexpected object");
    }
    return true;
  }
  bool end_object() {
    if (level_ == Level::entry) {
      if (fields_ != kAllFields) refuse("dtype, shape or data_offsets is missing");
      if (!header_.entries.emplace(key_, std::move(entry_)).second) refuse("occurs twice");
      entry_ = {};
    }
    level_ = level_ == Level::names ? Level::outside : Level::names;
    return true;
  }
  bool key(string_t& name) {
    if (level_ == Level::names) {
      key_ = name;
    } else {
      field_ = name;
    }
    return true;
  }
  bool string(string_t& text) {
    if (level_ == Level::metadata) {
      if (!header_.metadata.emplace(field_, text).second) {
        refuse("the key '" + field_ + "' occurs twice");
      }
    } else if (level_ == Level::entry && field_ == "dtype") {
      entry_.dtype = text;
      mark(kDtype);
    } else {
      refuse("unexpected string");
    }
    return true;
  }
  bool start_array(std::size_t) {
    if (level_ != Level::entry) refuse("unexpected array");
    if (field_ == "shape") {
      mark(kShape);
    } else if (field_ == "data_offsets") {
      mark(kOffsets);
    } else {
      refuse("unknown field '" + field_ + "'");
    }
    level_ = Level::array;
    offsets_ = 0;
    return true;
  }
  bool end_array() {
    if (field_ == "data_offsets" && offsets_ != 2) refuse("data_offsets are not two");
    level_ = Level::entry;
    return true;
  }
  bool number_unsigned(number_unsigned_t value) {
    if (level_ != Level::array) refuse("unexpected number");
    if (field_ == "shape") {
      if (entry_.shape.size() == kMaxRank) refuse("too many dimensions");
      entry_.shape.push_back(value);
    } else {
      if (offsets_ == 2) refuse("data_offsets are not two");
      (offsets_++ == 0 ? entry_.begin : entry_.end) = value;
    }
    return true;
  }
  bool number_integer(number_integer_t) { refuse("a negative number"); }
  bool number_float(number_float_t, const string_t&) { refuse("a number that is not whole"); }
  bool null() { refuse("unexpected null"); }
  bool boolean(bool) { refuse("unexpected boolean"); }
  bool binary(binary_t&) { refuse("unexpected binary"); }
  bool parse_error(std::size_t position, const std::string&, const json::exception&) {
    throw Error(
        fmt::format("{}: damaged header: not JSON at byte {}", path_, kLengthBytes + position));
  }

 private:
  enum class Level { outside, names, metadata, entry, array };
  static constexpr unsigned kDtype = 1, kShape = 2, kOffsets = 4, kAllFields = 7;

  void mark(unsigned field) {
    if ((fields_ & field) != 0) refuse("the field '" + field_ + "' occurs twice");
    fields_ |= field;
  }
  [[noreturn]] void refuse(const std::string& what) const {
    if (key_.empty()) throw Error(path_ + ": damaged header: " + what);
    const bool metadata = key_ == "__metadata__";
    throw Error(path_ + ": " + (metadata ? "metadata" : "tensor '" + key_ + "'") + ": " + what);
  }

  TensorHeader& header_;
  std::string path_;
  Level level_ = Level::outside;
  std::string key_, field_;
  Entry entry_;
  unsigned fields_ = 0;
  int offsets_ = 0;
};

void check_entries(const TensorHeader& header, std::size_t data_size, const std::string& path) {
  std::vector<std::pair<const std::string*, const Entry*>> sorted;
  sorted.reserve(header.entries.size());
  for (const auto& [name, entry] : header.entries) {
    const auto refuse = [&, &tensor = name](const std::string& what) {
      throw Error(path + ": tensor '" + tensor + "': " + what);
    };
    if (entry.begin > entry.end || entry.end > data_size) {
      refuse(fmt::format("bytes {} to {} are not within the file, which holds {}", entry.begin,
                         entry.end, data_size));
    }
    const std::size_t size = element_size(entry.dtype);
    if (size == 0) refuse("unknown dtype '" + entry.dtype + "'");
    std::size_t bytes = 0;
    if (!byte_count(entry.shape, size, bytes) || bytes != entry.end - entry.begin) {
      refuse("its length is not what dtype and shape say");
    }
    sorted.emplace_back(&name, &entry);
  }
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->begin, a.second->end) < std::pair(b.second->begin, b.second->end);
  });
  std::size_t end = 0;
  for (const auto& [name, entry] : sorted) {
    if (entry->begin != end) {
      throw Error(path + ": tensor '" + *name + "': " +
                  (entry->begin < end ? "overlaps another" : "bytes before it belong to none"));
    }
    end = entry->end;
  }
  if (end != data_size) {
    throw Error(fmt::format("{}: {} bytes at its end belong to no tensor", path, data_size - end));
  }
}

/// The header's checksum covers its text, with the digits of the checksum itself set to zero.
std::string header_checksum(std::string text, std::size_t digits_at) {
  text.replace(digits_at, kHashDigits, kHashDigits, '0');
  return checksum_text(XXH3_64bits(text.data(), text.size()));
}

void check_header(std::string_view text, const TensorHeader& header, const std::string& path) {
  const auto claimed = header.metadata.find("xxh3");
  if (claimed == header.metadata.end()) return;
  const std::size_t at = text.find(kHashKey);
  if (claimed->second.size() != kHashDigits || at == std::string_view::npos ||
      at + kHashKey.size() + kHashDigits > text.size() ||
      header_checksum(std::string(text), at + kHashKey.size()) != claimed->second) {
    throw Error(path + ": damaged header: its checksum is wrong");
  }
}

}  // namespace

std::size_t element_size(const std::string& dtype) {
  static constexpr std::pair<std::string_view, std::size_t> kSizes[] = {
      {"F32", 4}, {"U8", 1},  {"U64", 8},  {"I64", 8},     {"F64", 8},
      {"I32", 4}, {"U32", 4}, {"F16", 2},  {"BF16", 2},    {"I16", 2},
      {"U16", 2}, {"I8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};
  for (const auto& [name, size] : kSizes) {
    if (name == dtype) return size;
  }
  return 0;
}

bool byte_count(const std::vector<std::size_t>& shape, std::size_t size, std::size_t& bytes) {
  bytes = size;
  for (const std::size_t dimension : shape) {
    if (__builtin_mul_overflow(bytes, dimension, &bytes)) return false;
  }
  return true;
}

std::string checksum_text(std::uint64_t hash) {
  return fmt::format("{:016x}", hash);
}

TensorHeader parse_tensor_header(std::span<const std::byte> file, const std::string& path) {
  std::uint64_t length = 0;
  if (file.size() < kLengthBytes) throw Error(path + ": too short for a tensor file");
  std::memcpy(&length, file.data(), kLengthBytes);
  if (length > kMaxHeader || length > file.size() - kLengthBytes) {
    throw Error(fmt::format("{}: damaged header: its length is {} in a file of {} bytes", path,
                            length, file.size()));
  }
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + kLengthBytes, length);
  TensorHeader header;
  header.data_begin = kLengthBytes + length;
  HeaderReader reader(header, path);
  json::sax_parse(text.begin(), text.end(), &reader);
  check_header(text, header, path);
  check_entries(header, file.size() - header.data_begin, path);
  return header;
}

std::string format_tensor_header(const TensorHeader& header) {
  json document;
  json& metadata = document["__metadata__"] = header.metadata;
  metadata["xxh3"] = std::string(kHashDigits, '0');
  for (const auto& [name, entry] : header.entries) {
    document[name] = {
        {"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text = document.dump(-1, ' ', false, json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::size_t at = text.find(kHashKey) + kHashKey.size();
  text.replace(at, kHashDigits, header_checksum(text, at));
  const std::uint64_t length = text.size();
  text.insert(0, reinterpret_cast<const char*>(&length), kLengthBytes);
  return text;
}

}  // namespace evener
