// Explores every sequence of choices of a deterministic run, depth first: the run is repeated, and
// each time the last choice that has an untried value takes it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace evener {

class Choices {
 public:
  /// A number from 0 to count - 1.
  std::size_t pick(std::size_t count) {
    if (at_ == made_.size()) made_.push_back({0, count});
    return made_[at_++].value;
  }
  /// Starts the next sequence. False: every sequence was tried.
  bool next() {
    at_ = 0;
    while (!made_.empty() && made_.back().value + 1 == made_.back().count) made_.pop_back();
    if (made_.empty()) return false;
    ++made_.back().value;
    return true;
  }
  /// How many choices the run has made so far.
  std::size_t length() const { return at_; }
  std::string text() const {
    std::string text;
    for (const Choice& choice : made_)
      text += (text.empty() ? "" : " ") + std::to_string(choice.value);
    return text;
  }

 private:
  struct Choice {
    std::size_t value, count;
  };
  std::vector<Choice> made_;
  std::size_t at_ = 0;
};

}  // namespace evener
