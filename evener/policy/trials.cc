#include "evener/policy/trials.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace evener {

namespace {

constexpr std::size_t kLooks = 2;  // the first of them finds caches cold
// Slower than this share of what was measured, so often in a row: something has changed.
constexpr double kSlow = 0.7;
constexpr int kSlowInARow = 3;

}  // namespace

void Trials::join(int worker, const std::string& name) {
  const auto index = static_cast<std::size_t>(worker);
  if (names_.size() <= index) names_.resize(index + 1);
  const bool taken = std::find(names_.begin(), names_.end(), name) != names_.end();
  names_[index] = taken ? fmt::format("{} [{}]", name, worker) : name;
  entries_.push_back({worker});
  begin();
}

void Trials::leave(int worker) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.worker == worker; });
  begin();
}

void Trials::begin() {
  stage_ = !on_ || entries_.size() < 2 ? Stage::settled : Stage::look;
  count_ = entries_.size();
  rates_.assign(entries_.size() + 1, 0);
  for (auto& entry : entries_) entry = {entry.worker};
  slow_ = 0;
}

std::vector<int> Trials::active() const {
  std::vector<int> workers;
  for (std::size_t i = 0; i < count_; ++i) workers.push_back(entries_[i].worker);
  std::sort(workers.begin(), workers.end());
  return workers;
}

bool Trials::looked() const {
  return std::all_of(entries_.begin(), entries_.end(),
                     [](const Entry& entry) { return entry.done >= kLooks; });
}

void Trials::finished(const Finished& event, bool whole) {
  rows_ += event.rows;
  if (!whole) return;
  for (auto& entry : entries_) {
    if (entry.worker != event.worker) continue;
    ++entry.done;
    if (event.seconds <= 0) return;
    entry.speed = std::max(entry.speed, static_cast<double>(event.rows) / event.seconds);
  }
}

std::vector<std::string> Trials::merged(Seconds now, std::size_t whole) {
  const std::size_t rows = std::exchange(rows_, 0);
  const Seconds seconds = now - std::exchange(since_, now);
  const double rate = seconds > 0 ? static_cast<double>(rows) / seconds : 0;
  switch (stage_) {
    case Stage::look:
      if (!looked()) return {};  // cut short by the epoch
      plan_trials();
      return sets_.empty() ? settle() : std::vector<std::string>{};
    case Stage::trial:
      if (2 * rows < whole) return {};  // cut short by the epoch: tells little
      rates_[count_] = rate;
      sets_.pop_back();
      if (sets_.empty()) return settle();
      count_ = sets_.back();
      return {};
    case Stage::settled:
      return watch(rate);
  }
  return {};
}

// Speeds while all devices work: together they cannot do better.
void Trials::plan_trials() {
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.speed > b.speed; });
  sets_.clear();
  double sum = 0;
  for (std::size_t count = 1; count <= count_; ++count) {
    sum += entries_[count - 1].speed;
    if (count == 1 || sum >= worth_ * entries_.front().speed) sets_.push_back(count);
  }
  if (sets_.size() == 1) sets_.clear();  // one alone has nothing to win
  stage_ = Stage::trial;
  count_ = sets_.empty() ? 1 : sets_.back();
}

std::vector<std::string> Trials::settle() {
  stage_ = Stage::settled;
  const double alone = rates_[1];
  count_ = 1;
  for (std::size_t count = 2; count < rates_.size(); ++count) {
    const double least = count_ == 1 ? worth_ * alone : rates_[count_];
    if (rates_[count] > 0 && rates_[count] >= least) count_ = count;
  }
  return notes();
}

// Only where several devices work: one alone has nobody to be compared with.
std::vector<std::string> Trials::watch(double rate) {
  if (!on_ || count_ < 2) return {};
  slow_ = rate < kSlow * rates_[count_] ? slow_ + 1 : 0;
  if (slow_ < kSlowInARow) return {};
  const std::string note =
      fmt::format("measured: {} now {:.0f} rows/s, {:.0f} before; trying again", names(count_),
                  rate, rates_[count_]);
  begin();
  return {note};
}

}  // namespace evener
