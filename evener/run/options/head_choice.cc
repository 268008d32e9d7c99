#include "evener/run/options/head_choice.h"

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
  if (!names_one_processor(options.devices)) {
    const bool several = options.devices.find(',') != std::string::npos;
    return fmt::format("--devices {} names {}", options.devices,
                       several ? "several devices" : "another device than cpu");
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

bool names_one_processor(const std::string& devices) {
  if (devices == "auto") return true;
  if (devices.find(',') != std::string::npos) return false;
  const DeviceKind* kind = find_device_kind(devices);
  return kind != nullptr && kind->name == "cpu";
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
