// Compares versions of Debian packages, as dpkg does.
#include <algorithm>
#include <string_view>

#include "evener/data/make/package_index.h"
#include "evener/data/number.h"

namespace evener {

namespace {

// A tilde sorts before everything, even the end of a part (0). Letters sort before all other
// characters.
int weight(char c) {
  if (c == '~') return -1;
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return c;
  return c == '\0' ? 0 : c + 256;
}

std::string_view take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  while (digits.starts_with('0')) digits.remove_prefix(1);
  return digits;
}

// As numbers of any length: without leading zeros the longer is the larger.
int compare_digits(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

// Parts are compared as alternating runs of non-digits (by weight) and digits (by number).
int compare_parts(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    while ((!a.empty() && !is_digit(a[0])) || (!b.empty() && !is_digit(b[0]))) {
      const int left = a.empty() || is_digit(a[0]) ? 0 : weight(a[0]);
      const int right = b.empty() || is_digit(b[0]) ? 0 : weight(b[0]);
      if (left != right) return left - right;
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
    if (const int order = compare_digits(take_digits(a), take_digits(b)); order != 0) return order;
  }
  return 0;
}

struct Version {
  std::string_view epoch, upstream, revision;
};

Version split(std::string_view text) {
  Version version;
  if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    version.epoch = text.substr(0, colon);
    text.remove_prefix(colon + 1);
  }
  const auto dash = text.rfind('-');
  version.upstream = text.substr(0, dash);
  if (dash != std::string_view::npos) version.revision = text.substr(dash + 1);
  return version;
}

}  // namespace

int compare_versions(std::string_view a, std::string_view b) {
  const Version left = split(a), right = split(b);
  if (const int order = compare_parts(left.epoch, right.epoch); order != 0) return order;
  if (const int order = compare_parts(left.upstream, right.upstream); order != 0) return order;
  return compare_parts(left.revision, right.revision);
}

}  // namespace evener
