#include "evener/data/number.h"

#include <system_error>

#include <fast_float/fast_float.h>

namespace evener {

namespace {

// from_chars refuses the plus sign that strtof takes.
template <class T>
const char* parse_any(const char* begin, const char* end, T& value) {
  if (begin != end && *begin == '+') {
    ++begin;
    if (begin == end || *begin == '-' || *begin == '+') return nullptr;
  }
  const auto result = fast_float::from_chars(begin, end, value);
  return result.ec == std::errc::invalid_argument ? nullptr : result.ptr;
}

}  // namespace

const char* parse_any_float(const char* begin, const char* end, float& value) {
  return parse_any(begin, end, value);
}

const char* parse_any_double(const char* begin, const char* end, double& value) {
  return parse_any(begin, end, value);
}

}  // namespace evener
