// What the trials of devices tell people.
#include <fmt/format.h>

#include "evener/policy/trials.h"

namespace evener {

std::string Trials::names(std::size_t count) const {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : " + ") + name(i);
  return text;
}

std::string Trials::undecided() const {
  if (stage_ == Stage::settled) return "";
  return fmt::format("not decided: the run ended while devices were being tried; in use: {}",
                     names(count_));
}

/// What was seen and what was decided, a line each.
std::vector<std::string> Trials::notes() const {
  std::string seen, demoted;
  const auto add = [&](const std::string& who, double rate) {
    seen += fmt::format("{}{} {:.0f} rows/s", seen.empty() ? "" : "; ", who, rate);
  };
  for (std::size_t count = 1; count < rates_.size(); ++count) {
    if (rates_[count] > 0) add(names(count), rates_[count]);
  }
  const bool tried = rates_[1] > 0;
  for (std::size_t i = 0; !tried && i < entries_.size(); ++i) add(name(i), entries_[i].speed);
  std::vector<std::string> notes{"measured: " + seen};
  for (std::size_t i = count_; i < entries_.size(); ++i) {
    demoted += (demoted.empty() ? "" : ", ") + name(i);
  }
  notes.push_back(
      demoted.empty()
          ? "decided: all devices train"
          : fmt::format(
                "decided: {} {} demoted: several devices must train {:g} times as many rows "
                "a second as the best alone, since averaged models learn less from a row",
                demoted, count_ + 1 == entries_.size() ? "is" : "are", worth_));
  return notes;
}

}  // namespace evener
