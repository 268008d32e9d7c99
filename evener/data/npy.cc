#include "evener/data/npy.h"

#include <cstring>
#include <limits>
#include <string_view>

#include "evener/core/error.h"

namespace evener {

namespace {

[[noreturn]] void fail(const std::string& what) {
  throw Error("a numpy array " + what);
}

// The text after `'key':` in the header, which is a Python dictionary on one line.
std::string_view value_of(std::string_view header, std::string_view key) {
  for (const char quote : {'\'', '"'}) {
    const std::string pattern = quote + std::string(key) + quote;
    const std::size_t at = header.find(pattern);
    if (at == std::string_view::npos) continue;
    std::string_view rest = header.substr(at + pattern.size());
    const std::size_t start = rest.find_first_not_of(" :");
    if (start != std::string_view::npos) return rest.substr(start);
  }
  fail("has a damaged header");
}

// Type strings are byte order, kind, size in bytes (for U: in characters of four bytes).
void read_type(std::string_view header, NpyArray& array) {
  std::string_view type = value_of(header, "descr");
  if (type.size() < 2) fail("has a damaged header");
  const char quote = type.front();
  type = type.substr(1, type.find(quote, 1) - 1);
  if ((quote != '\'' && quote != '"') || type.size() < 3 || type.size() > 8) {
    fail("has an unsupported type");
  }
  if (type[0] == '>') fail("is big-endian, which is not supported");
  array.kind = type[1];
  for (const char digit : type.substr(2)) {
    if (digit < '0' || digit > '9') fail("has an unsupported type");
    array.item_size = array.item_size * 10 + static_cast<std::uint32_t>(digit - '0');
  }
  if (array.kind == 'U') array.item_size *= 4;
}

void read_shape(std::string_view header, NpyArray& array) {
  std::string_view shape = value_of(header, "shape");
  const std::size_t end = shape.find(')');
  if (shape.front() != '(' || end == std::string_view::npos) fail("has a damaged header");
  shape = shape.substr(1, end - 1);
  for (std::size_t at = 0; at < shape.size();) {
    if (shape[at] < '0' || shape[at] > '9') {
      if (shape[at] != ',' && shape[at] != ' ') fail("has a damaged header");
      ++at;
      continue;
    }
    std::uint64_t size = 0;
    for (; at < shape.size() && shape[at] >= '0' && shape[at] <= '9'; ++at) {
      size = size * 10 + static_cast<std::uint64_t>(shape[at] - '0');
      if (size > std::uint64_t{1} << 48) fail("has an impossible shape");
    }
    ++array.dimensions;
    if (size > 0 && array.count > (std::uint64_t{1} << 48) / size) {
      fail("has an impossible shape");
    }
    array.count *= size;
  }
}

template <class T>
T element(const NpyArray& array, std::uint64_t i) {
  T value;
  std::memcpy(&value, array.elements.data() + i * sizeof(T), sizeof(T));
  return value;
}

template <class T>
Array<float> convert(const NpyArray& array) {
  Array<float> floats;
  floats.resize(array.count);
  for (std::uint64_t i = 0; i < array.count; ++i) {
    floats[i] = static_cast<float>(element<T>(array, i));
  }
  return floats;
}

// Calls `use` with a value of the array's element type.
template <class Use>
auto with_type(const NpyArray& array, Use use) {
  switch (array.kind << 8 | static_cast<int>(array.item_size & 0xFF)) {
    case 'i' << 8 | 1:
      return use(std::int8_t{});
    case 'i' << 8 | 2:
      return use(std::int16_t{});
    case 'i' << 8 | 4:
      return use(std::int32_t{});
    case 'i' << 8 | 8:
      return use(std::int64_t{});
    case 'b' << 8 | 1:
    case 'u' << 8 | 1:
      return use(std::uint8_t{});
    case 'u' << 8 | 2:
      return use(std::uint16_t{});
    case 'u' << 8 | 4:
      return use(std::uint32_t{});
    case 'u' << 8 | 8:
      return use(std::uint64_t{});
    case 'f' << 8 | 4:
      return use(float{});
    case 'f' << 8 | 8:
      return use(double{});
    default:
      fail("has an unsupported type");
  }
}

}  // namespace

NpyArray parse_npy(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.size() < 12 || !text.starts_with("\x93NUMPY")) fail("has no header");
  const auto version = std::to_integer<int>(bytes[6]);
  if (version < 1 || version > 3) fail("has an unsupported version");
  std::uint32_t header_size = 0;
  const std::size_t prefix = version == 1 ? 10 : 12;
  std::memcpy(&header_size, text.data() + 8, version == 1 ? 2 : 4);
  if (text.size() - prefix < header_size) fail("is cut off");
  const std::string_view header = text.substr(prefix, header_size);
  NpyArray array;
  read_type(header, array);
  read_shape(header, array);
  if (array.dimensions > 1 && value_of(header, "fortran_order").starts_with("True")) {
    fail("is in column order, which is not supported");
  }
  array.elements = bytes.subspan(prefix + header_size);
  if (array.item_size == 0 ? array.count != 0
                           : array.elements.size() % array.item_size != 0 ||
                                 array.elements.size() / array.item_size != array.count) {
    fail("is not as long as its shape says");
  }
  return array;
}

std::int64_t integer_at(const NpyArray& array, std::uint64_t i) {
  return with_type(array, [&](auto type) -> std::int64_t {
    using T = decltype(type);
    if constexpr (std::is_integral_v<T>) {
      const T value = element<T>(array, i);
      if constexpr (std::is_same_v<T, std::uint64_t>) {
        if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
          fail("holds an integer that is too large");
        }
      }
      return static_cast<std::int64_t>(value);
    } else {
      fail("of indices has elements that are no integers");
    }
  });
}

Array<float> floats_of(const NpyArray& array) {
  return with_type(array, [&](auto type) { return convert<decltype(type)>(array); });
}

std::string text_of(const NpyArray& array) {
  if ((array.kind != 'S' && array.kind != 'U') || array.count != 1) fail("is not a text");
  std::string text;
  const std::size_t step = array.kind == 'U' ? 4 : 1;
  for (std::size_t i = 0; i < array.elements.size(); i += step) {
    const char c = static_cast<char>(array.elements[i]);
    if (c != '\0') text += c;
  }
  return text;
}

}  // namespace evener
