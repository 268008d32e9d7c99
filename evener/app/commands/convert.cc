// evener convert
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "evener/app/commands/commands.h"
#include "evener/app/shell/output.h"
#include "evener/core/counted.h"
#include "evener/core/error.h"
#include "evener/data/cache.h"
#include "evener/data/read.h"
#include "evener/run/options/options.h"

namespace evener {

namespace {

struct ConvertOptions {
  std::string in, out;
  std::string format = "auto";
  std::string to = "auto";
};

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// The format from --to, else from the file name: .txt is text, all others are the cache format.
bool writes_text(const ConvertOptions& options) {
  if (options.to == "text" || options.to == "cache") return options.to == "text";
  if (options.to != "auto") throw UsageError("--to: valid are auto, text, cache");
  return ends_with(options.out, ".txt");
}

void run_convert(const ConvertOptions& options) {
  const bool text = writes_text(options);
  const bool from_cache = is_cache(options.in);
  if (from_cache && options.format != "auto") {
    throw UsageError("--format has no effect on " + options.in + ": it is a cache, not text");
  }
  ReadOptions read;
  read.format = options.format == "auto" ? Format::automatic : parse_format(options.format);
  read.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const Dataset data = from_cache ? open_cache(options.in) : read_dataset(options.in, read);
  if (text) {
    write_multilabel(data, options.out);
  } else {
    write_cache(data, options.out);
  }
  print_text(fmt::format("{}: {}, {}, {}\n", options.out, counted(data.rows(), "row"),
                         counted(data.feature_count, "feature"),
                         counted(data.label_count, "label")));
}

}  // namespace

void add_convert(CLI::App& app, Shell&) {
  auto* command = app.add_subcommand("convert", "convert data to multi-label text or to a cache");
  command->footer(
      "Examples:\n"
      "  evener convert train.txt.xz train.evd   # a binary file: mapped, not read\n"
      "  evener convert train.evd train.txt      # back to text");
  auto options = std::make_shared<ConvertOptions>();
  command->add_option("IN", options->in, "data of any supported format")->required();
  command->add_option("OUT", options->out, "file to write")->required();
  command
      ->add_option("--format", options->format,
                   "format of IN: " + find_train_option("format").range + " (auto)")
      ->type_name("WORD");
  command->add_option("--to", options->to, "text or cache (auto: text for NAME.txt, else cache)")
      ->type_name("WORD");
  command->callback([options] { run_convert(*options); });
}

}  // namespace evener
