#include "evener/run/artifacts/metrics_file.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include <nlohmann/json.hpp>

#include "evener/core/file.h"

namespace evener {

namespace {

using nlohmann::json;

/// Whether a record was written before the checkpoint. An epoch is closed after its records are
/// written and before its checkpoint is saved, so a checkpoint that was saved between the last step
/// of an epoch and its end does not cover the records of that epoch.
bool is_covered(const json& record, const Progress& progress) {
  const auto step = record.value("step", std::uint64_t{0});
  const auto kind = record.value("kind", std::string());
  if (kind == "epoch" || kind == "eval") {
    // 12.4: the end of the time has cut epoch 13 short.
    return record.value("epoch", 0.0) <= static_cast<double>(progress.epoch);
  }
  if (kind == "end") return step < progress.step;
  if (kind == "worker") {
    return step < progress.step || (step == progress.step && progress.next_row == 0);
  }
  return step <= progress.step;
}

bool is_kept(std::string_view line, const Progress& progress) {
  const json record = json::parse(line, nullptr, false);
  if (!record.is_object()) return true;  // not written by a run: it stays as it is
  try {
    return is_covered(record, progress);
  } catch (const json::exception&) {  // a field of another type
    return true;
  }
}

}  // namespace

void drop_later_records(const std::string& path, const Progress& progress) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return;
  std::string kept;
  {
    const MappedFile file(path);
    std::string_view rest(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
    const std::size_t size = rest.size();
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      const std::string_view line = rest.substr(0, end + 1);
      if (is_kept(line, progress)) kept += line;
      rest.remove_prefix(line.size());
    }
    if (kept.size() == size) return;
  }
  write_atomically(path, std::as_bytes(std::span(kept)));
}

}  // namespace evener
