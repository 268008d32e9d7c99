#include "evener/data/make/words.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace evener {

namespace {

bool is_ascii_word(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// How many bytes at `at` belong to a word: 0 or 1 for ASCII, 0 for the punctuation beyond ASCII
// that prose uses (U+00A0..00BF as C2 xx; U+2000..206F, dashes and quotes, as E2 80 xx and E2 81
// xx), else the whole character.
struct Step {
  std::size_t bytes;
  bool word;
};

Step step_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned lead = byte(at);
  if (lead < 0x80) return {1, is_ascii_word(static_cast<unsigned char>(lead))};
  if (lead == 0xC2) return {2, false};
  if (lead == 0xE2 && (byte(at + 1) == 0x80 || byte(at + 1) == 0x81)) return {3, false};
  return {1, true};
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;
  for (std::size_t at = 0; at < text.size();) {
    const Step step = step_at(text, at);
    if (step.word) {
      if (!inside) words.emplace_back();
      words.back() += lower(text[at]);
    }
    inside = step.word;
    at += step.bytes;
  }
  return words;
}

bool is_stop_word(std::string_view word) {
  static constexpr std::array<std::string_view, 32> kStopWords = {
      "a",    "an",   "and",  "any",  "are", "as",    "at",  "be",    "by",   "can",   "for",
      "from", "in",   "into", "is",   "it",  "its",   "of",  "on",    "or",   "other", "some",
      "such", "that", "the",  "this", "to",  "using", "via", "which", "with", "your"};
  static_assert(std::is_sorted(kStopWords.begin(), kStopWords.end()));
  return std::binary_search(kStopWords.begin(), kStopWords.end(), word);
}

std::vector<std::string> package_features(std::string_view name, std::string_view synopsis) {
  std::vector<std::string> features;
  const std::vector<std::string> words = split_words(name);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!is_stop_word(words[i])) features.push_back(words[i]);
    features.push_back("name:" + words[i]);
    if (i > 0) features.push_back("name:" + words[i - 1] + "-" + words[i]);
  }
  if (!words.empty()) {
    features.push_back("name:^" + words.front());
    features.push_back("name:" + words.back() + "$");
  }
  for (std::string& word : split_words(synopsis)) {
    if (!is_stop_word(word)) features.push_back(std::move(word));
  }
  return features;
}

}  // namespace evener
