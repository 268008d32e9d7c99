#include "evener/run/options/head_choice.h"

#include <algorithm>

#include <fmt/format.h>

#include "evener/core/counted.h"
#include "evener/device/registry.h"

namespace evener {

namespace {

/// The first given option that has an effect with the head `has` and none with the head `lacks`.
std::string only_with(const char* has, const char* lacks, const GivenNames& given,
                      const TrainOptions& options) {
  TrainOptions with = options, without = options;
  with.head = has;
  without.head = lacks;
  for (const auto& [name, where] : given) {
    const OptionInfo& info = find_train_option(name);
    if (why_not_applicable(info, with, options.mode).empty() &&
        !why_not_applicable(info, without, options.mode).empty()) {
      return "--" + name;
    }
  }
  return "";
}

/// Why only the full head can do what the options say; empty: the shortlist head can, too.
std::string why_full(const GivenNames& given, const TrainOptions& options) {
  if (!names_processors(options.devices)) {
    return fmt::format("--devices {} names another device than cpu", options.devices);
  }
  const auto& hidden = options.hidden;
  if (hidden.size() != 1) {
    return "--hidden asks for " +
           (hidden.empty() ? "no hidden layer" : counted(hidden.size(), "hidden layer"));
  }
  const std::string option = only_with("full", "shortlist", given, options);
  return option.empty() ? "" : "only this head has " + option;
}

}  // namespace

bool names_processors(const std::string& devices) {
  if (devices == "auto") return true;
  for (std::size_t at = 0; at <= devices.size();) {
    const std::size_t comma = std::min(devices.find(',', at), devices.size());
    const std::size_t begin = std::min(devices.find_first_not_of(' ', at), comma);
    const DeviceKind* kind = find_device_kind(devices.substr(begin, comma - begin));
    if (kind == nullptr || kind->name != "cpu") return false;
    at = comma + 1;
  }
  return true;
}

void choose_head_by_options(const GivenNames& given, TrainOptions& options) {
  if (options.mode != Mode::train || options.head != "auto") return;
  const auto choose = [&](const char* head, const std::string& why) {
    options.head = head;
    options.head_reason = fmt::format("--head auto: {}, because {}", head, why);
  };
  if (const std::string why = why_full(given, options); !why.empty()) {
    choose("full", why);
  } else if (const auto option = only_with("shortlist", "full", given, options); !option.empty()) {
    choose("shortlist", "only this head has " + option);
  }
}

}  // namespace evener
