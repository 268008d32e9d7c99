#include "evener/core/printable.h"

#include <cstddef>

#include <fmt/format.h>

namespace evener {

namespace {

unsigned byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

/// The length of the valid UTF-8 character at the front; 0: there is none. Surrogates, overlong
/// forms and numbers beyond U+10FFFF are not valid (RFC 3629, section 4).
std::size_t character_length(std::string_view text) {
  const unsigned lead = byte_at(text, 0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte_at(text, i) & 0xC0U) != 0x80) return 0;
  }
  const unsigned second = byte_at(text, 1);
  const unsigned lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  return second < lowest || second > highest ? 0 : length;
}

bool is_control(std::string_view character) {
  const unsigned lead = byte_at(character, 0);
  if (character.size() == 1) return lead < 0x20 || lead == 0x7F;
  return lead == 0xC2 && byte_at(character, 1) < 0xA0;
}

std::string escaped_controls(std::string_view text, bool keep_newlines) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    const bool kept = keep_newlines && character == "\n";
    if (!kept && (length == 0 || is_control(character))) {
      for (std::size_t i = 0; i < character.size(); ++i) {
        result += fmt::format("\\x{:02x}", byte_at(character, i));
      }
    } else {
      result += character;
    }
    text.remove_prefix(character.size());
  }
  return result;
}

}  // namespace

std::string printable(std::string_view text) {
  return escaped_controls(text, false);
}

std::string printable_lines(std::string_view text) {
  return escaped_controls(text, true);
}

}  // namespace evener
