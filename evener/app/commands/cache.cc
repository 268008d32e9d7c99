// evener cache
#include <ctime>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "evener/app/commands/commands.h"
#include "evener/app/shell/output.h"
#include "evener/core/counted.h"
#include "evener/core/error.h"
#include "evener/core/printable.h"
#include "evener/data/cache_folder.h"

namespace evener {

namespace {

constexpr const char* kCacheExamples =
    "Examples:\n"
    "  evener cache\n"
    "  evener cache list --json\n"
    "  evener cache clean\n\n"
    "The cache folder holds binary copies of data. It is EVENER_CACHE_DIR, else evener\n"
    "in the user's cache folder. EVENER_CACHE_LIMIT bounds the size of all copies, such\n"
    "as 500M or 20G (powers of 1000); without it the bound is the smaller of 20 GB and\n"
    "10 % of the disk. The least recently used copies are removed when a new one is\n"
    "written.";

struct CacheArgs {
  std::string action = "list";
  std::string directory;
  bool json = false;
};

std::string size_text(std::uint64_t bytes) {
  const auto size = static_cast<double>(bytes);
  if (size >= 1e9) return fmt::format("{:.1f} GB", size / 1e9);
  if (size >= 1e6) return fmt::format("{:.1f} MB", size / 1e6);
  return size >= 1e3 ? fmt::format("{:.1f} kB", size / 1e3) : fmt::format("{} B", bytes);
}

std::string time_text(const timespec& time, bool utc) {
  std::tm parts{};
  (utc ? gmtime_r : localtime_r)(&time.tv_sec, &parts);
  char text[32];
  const std::size_t length =
      std::strftime(text, sizeof text, utc ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%d %H:%M", &parts);
  return std::string(text, length);
}

void print_json(const nlohmann::ordered_json& json) {
  print(json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n");
}

void list_cache(const CacheOptions& cache, bool json) {
  const auto entries = cache_entries(cache.directory);
  const std::uint64_t limit = cache_limit(cache);
  std::uint64_t total = 0;
  auto rows = nlohmann::ordered_json::array();
  std::string text;
  for (const auto& entry : entries) {
    total += entry.bytes;
    rows.push_back({{"source", entry.source},
                    {"path", entry.path},
                    {"bytes", entry.bytes},
                    {"last_use", time_text(entry.last_use, true)}});
    text += fmt::format("{:>9}  {}  {}\n", size_text(entry.bytes), time_text(entry.last_use, false),
                        printable(entry.source));
  }
  if (json) {
    return print_json(
        {{"directory", cache.directory}, {"entries", rows}, {"bytes", total}, {"limit", limit}});
  }
  if (!text.empty()) text = fmt::format("{:>9}  {:<16}  {}\n", "size", "last use", "source") + text;
  print_text(fmt::format("{}{}: {}, {} of at most {}\n", text, cache.directory,
                         counted(entries.size(), "file"), size_text(total), size_text(limit)));
}

void clean(const CacheOptions& cache, bool json) {
  const CacheRemoval removed = clean_cache(cache.directory);
  if (json) {
    return print_json({{"directory", cache.directory},
                       {"removed_entries", removed.entries},
                       {"removed_leftovers", removed.leftovers},
                       {"removed_bytes", removed.bytes}});
  }
  print_text(fmt::format("{}: removed {} and {}, {}\n", cache.directory,
                         counted(removed.entries, "file"),
                         counted(removed.leftovers, "incomplete file"), size_text(removed.bytes)));
}

void run_cache(const CacheArgs& args, const Environment& environment) {
  CacheOptions cache = environment.cache;
  if (!args.directory.empty()) cache.directory = args.directory;
  if (args.action != "list" && args.action != "clean") {
    throw UsageError("ACTION '" + args.action + "': must be list or clean");
  }
  if (cache.directory.empty()) {
    throw UsageError("there is no cache folder: set EVENER_CACHE_DIR, or give --cache-dir");
  }
  args.action == "list" ? list_cache(cache, args.json) : clean(cache, args.json);
}

}  // namespace

void add_cache(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("cache", "list or remove the binary copies of data");
  command->footer(kCacheExamples);
  auto args = std::make_shared<CacheArgs>();
  command->add_option("ACTION", args->action, "list: show the copies; clean: remove them (list)");
  command->add_option("--cache-dir", args->directory, "another cache folder")->type_name("FOLDER");
  command->add_flag("--json", args->json, "print JSON");
  command->callback([args, &shell] { run_cache(*args, shell.environment); });
}

}  // namespace evener
