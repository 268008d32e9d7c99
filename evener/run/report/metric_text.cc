#include "evener/run/report/metric_text.h"

#include <algorithm>

#include <fmt/format.h>

namespace evener {

namespace {

bool is_share(const std::string& metric) {
  return metric != "loss";
}

}  // namespace

std::string metric_title(const std::string& metric) {
  const std::size_t at = metric.find('@');
  const std::string name = metric.substr(0, at);
  const std::string rest = at == std::string::npos ? "" : metric.substr(at);
  if (name == "ndcg") return "nDCG" + rest;
  if (name == "p" || name == "psp" || name == "auc") {
    std::string upper = name;
    std::transform(upper.begin(), upper.end(), upper.begin(),
                   [](char c) { return static_cast<char>(c - 'a' + 'A'); });
    return upper + rest;
  }
  return metric;
}

std::string metric_text(const std::string& metric, double value) {
  return is_share(metric) ? fmt::format("{:.2f}", 100 * value) : fmt::format("{:.4f}", value);
}

std::string metrics_line(const Metrics& metrics) {
  std::string line;
  for (const char* name : {"p@1", "p@3", "p@5", "auc"}) {
    const auto found = metrics.find(name);
    if (found == metrics.end()) continue;
    line +=
        (line.empty() ? "" : "  ") + metric_title(name) + " " + metric_text(name, found->second);
  }
  return line;
}

std::string metrics_table(const Metrics& metrics) {
  // One line per family with a column for each k, then the single metrics.
  std::string table;
  for (const char* family : {"p", "ndcg", "psp"}) {
    std::string line, head;
    for (const char* k : {"@1", "@3", "@5"}) {
      const auto found = metrics.find(std::string(family) + k);
      if (found == metrics.end()) continue;
      head += fmt::format("{:>8}", k);
      line += fmt::format("{:>8}", metric_text(found->first, found->second));
    }
    if (line.empty()) continue;
    if (table.empty()) table = fmt::format("{:<10}{}\n", "%", head);
    table += fmt::format("{:<10}{}\n", metric_title(family), line);
  }
  for (const auto& [name, value] : metrics) {
    if (name.find('@') != std::string::npos) continue;
    table += fmt::format("{:<10}{:>8}\n", metric_title(name), metric_text(name, value));
  }
  return table;
}

}  // namespace evener
