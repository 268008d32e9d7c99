#include "evener/runtime/timeline.h"

#include <algorithm>

#include <fmt/format.h>

namespace evener {

namespace {

// Bounds the memory of a long run: beyond this many entries only the totals are updated.
constexpr std::size_t kMostEntries = 100'000;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out;
}

}  // namespace

void Timeline::keep(const TimelineEntry& entry) {
  if (entries_.size() < kMostEntries) entries_.push_back(entry);
}

void Timeline::add_task(const Task& task, const TaskStats& stats, std::uint64_t staleness) {
  WorkerTotals& totals = totals_[static_cast<std::size_t>(task.worker)];
  ++totals.tasks;
  totals.updates += task.parts.size();
  totals.rows += task.rows();
  totals.compute += stats.compute;
  totals.transfer += stats.transfer;
  totals.bytes += stats.bytes;
  totals.staleness_sum += static_cast<double>(staleness * task.parts.size());
  totals.staleness_max = std::max(totals.staleness_max, staleness);
  const auto bound = std::lower_bound(kStalenessBounds.begin(), kStalenessBounds.end(), staleness);
  ++totals.staleness_counts[static_cast<std::size_t>(bound - kStalenessBounds.begin())];
  const std::size_t batch = task.parts.front().slice.rows.size();
  // The last batch of an epoch is a remainder and says nothing about the strategy's batch size.
  totals.last_batch = std::max(batch, totals.batch_before);
  totals.batch_before = batch;
  keep({task.worker, task.work, task.rows(), batch, task.parts.size(), staleness, stats.begin,
        stats.end, stats.transfer});
}

void Timeline::add_merge(Seconds begin, Seconds end) {
  ++merges_;
  keep({-1, Work::local, 0, 0, 0, 0, begin, end, 0});
}

std::string Timeline::trace_json() const {
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  const auto thread_name = [&](std::size_t thread, const std::string& name) {
    text +=
        fmt::format(R"({{"ph":"M","pid":1,"tid":{},"name":"thread_name","args":{{"name":"{}"}}}},)",
                    thread, escaped(name));
    text += '\n';
  };
  text += R"({"ph":"M","pid":1,"name":"process_name","args":{"name":"evener"}})";
  text += ",\n";
  thread_name(0, "merges");
  for (std::size_t i = 0; i < names_.size(); ++i) {
    thread_name(i + 1, fmt::format("{} {}", i, names_[i]));
  }
  constexpr double kMicro = 1e6;
  for (const auto& e : entries_) {
    if (e.worker < 0) {
      text +=
          fmt::format(R"({{"ph":"X","pid":1,"tid":0,"name":"merge","ts":{:.3f},"dur":{:.3f}}},)",
                      e.begin * kMicro, (e.end - e.begin) * kMicro);
    } else {
      text += fmt::format(
          R"({{"ph":"X","pid":1,"tid":{},"name":"{}","ts":{:.3f},"dur":{:.3f},"args":{{"rows":{},"batch":{},"staleness":{}}}}},)",
          e.worker + 1, traits_of(e.work).name, e.begin * kMicro, (e.end - e.begin) * kMicro,
          e.rows, e.batch, e.staleness);
    }
    text += '\n';
  }
  text.erase(text.size() - 2);  // the last comma
  return text + "\n]}\n";
}

}  // namespace evener
