#include "evener/run/devices/devices.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "evener/core/cores.h"
#include "evener/core/error.h"
#include "evener/device/registry.h"

namespace evener {

namespace {

constexpr std::size_t kMega = 1'000'000;

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    parts.push_back(trimmed(list.substr(at, comma - at)));
    at = comma + 1;
  }
  return parts;
}

double parse_speed(const std::string& text) {
  double speed = 0;
  if (!text.starts_with('x')) return 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + 1, end, speed);
  return error == std::errc{} && stop == end ? speed : 0;
}

std::size_t find_device(const char* option, const std::string& key,
                        const std::vector<std::string>& names) {
  std::size_t index = 0;
  const char* end = key.data() + key.size();
  const auto [stop, error] = std::from_chars(key.data(), end, index);
  if (error == std::errc{} && stop == end && index < names.size()) return index;
  if (std::count(names.begin(), names.end(), key) == 1) {
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), key) - names.begin());
  }
  std::string valid;
  for (std::size_t i = 0; i < names.size(); ++i) {
    valid += fmt::format("{}{}: {}", i == 0 ? "" : ", ", i, names[i]);
  }
  throw UsageError(fmt::format("{}: there is no one device '{}' here ({})", option, key, valid));
}

bool in_host_memory(const std::string& name) {
  const DeviceKind* kind = find_device_kind(name);
  return kind != nullptr && kind->in_host_memory;
}

[[noreturn]] void refuse_host_limit(const std::string& name) {
  throw UsageError(fmt::format(
      "--memory-limit: {} works in the machine's memory; only accelerators can be limited", name));
}

/// A limit for processors alone has no effect: an error, or a note if the limit comes from a
/// resumed run, which may have had other devices.
std::string note_or_refuse_limit(const TrainOptions& options, const std::vector<std::string>& names,
                                 const FoundDevices& found) {
  if (trimmed(options.memory_limit).empty()) return "";
  if (!std::all_of(names.begin(), names.end(), in_host_memory)) return "";
  if (!options.resume.empty()) {
    return "--memory-limit limits nothing here: there is no accelerator, and the processor works "
           "in the machine's memory";
  }
  if (trimmed(options.devices) != "auto") refuse_host_limit(names.front());
  throw UsageError(fmt::format(
      "--memory-limit: --devices auto finds only {} here, which works in the machine's memory; "
      "only accelerators can be limited{}",
      found.list,
      found.left_out.empty() ? ""
                             : fmt::format(" (left out: {})", fmt::join(found.left_out, "; "))));
}

/// Converts megabytes to bytes; `part` is the user's text, for messages.
std::size_t parse_limit(const std::string& part, const std::string& number) {
  std::size_t megabytes = 0;
  const char* end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, megabytes);
  if (error != std::errc{} || stop != end || megabytes == 0 || megabytes > kMega * kMega) {
    throw UsageError(fmt::format(
        "--memory-limit: '{}' is neither a number of megabytes nor DEVICE=MEGABYTES", part));
  }
  return megabytes * kMega;
}

/// Refuses an accelerator that is named twice, or both as a whole and by a part.
void refuse_overlap(const std::vector<std::string>& names, std::size_t last) {
  const std::string& name = names[last];
  if (in_host_memory(name)) return;
  for (std::size_t i = 0; i < last; ++i) {
    const std::string& other = names[i];
    if (other == name || other.starts_with(name + ".") || name.starts_with(other + ".")) {
      throw UsageError(fmt::format("--devices: {} and {} are the same device", other, name));
    }
  }
}

/// Cores that a device uses; 0: it is not a processor.
unsigned cores_of(const std::string& name) {
  const DeviceKind* kind = find_device_kind(name);
  return kind == nullptr ? 0 : kind->cores(name);
}

/// Why a name must not occur twice; empty: it may.
std::string why_not_twice(const std::string& name) {
  const DeviceKind* kind = find_device_kind(name);
  if (kind == nullptr || !kind->in_host_memory) return fmt::format("{} is named twice", name);
  if (name != kind->name) return "";  // names a part of the cores
  return fmt::format(
      "{0} is named twice (it is all cores: give each worker its own threads, as in {0}:1,{0}:1)",
      name);
}

/// Workers that share cores are allowed, but rarely intended: adds a note.
std::string crowding(const std::vector<std::string>& names) {
  unsigned threads = 0;
  std::vector<std::string> processors;
  for (const auto& name : names) {
    const unsigned cores = cores_of(name);
    if (cores == 0) continue;
    threads += cores;
    processors.push_back(name);
  }
  const auto cores = static_cast<unsigned>(available_cores());
  if (threads <= cores) return "";
  return fmt::format("{} {} {} threads on {} {}: they slow each other down",
                     fmt::join(processors, " + "), processors.size() == 1 ? "is" : "are", threads,
                     cores, cores == 1 ? "core" : "cores");
}

}  // namespace

std::vector<double> parse_emulation(const std::string& text,
                                    const std::vector<std::string>& names) {
  if (trimmed(text).empty()) return {};
  std::vector<double> speeds(names.size(), 0);
  for (const auto& part : split(text)) {
    const std::size_t equals = part.find('=');
    const double speed =
        equals == std::string::npos ? 0 : parse_speed(trimmed(part.substr(equals + 1)));
    if (!(speed > 0 && speed <= 1)) {
      throw UsageError(
          fmt::format("--emulate: '{}' is not DEVICE=xSPEED with a speed above 0 and "
                      "at most 1, as in 1=x0.25",
                      part));
    }
    const std::size_t device = find_device("--emulate", trimmed(part.substr(0, equals)), names);
    if (speeds[device] > 0) {
      throw UsageError(fmt::format("--emulate: {} is given twice", names[device]));
    }
    speeds[device] = speed;
  }
  for (double& speed : speeds) {
    if (speed == 0) speed = 1;
  }
  return speeds;
}

std::vector<std::size_t> parse_memory_limits(const std::string& text,
                                             const std::vector<std::string>& names) {
  std::vector<std::size_t> limits(names.size(), 0);
  if (trimmed(text).empty()) return limits;
  const auto parts = split(text);
  std::vector<bool> named(names.size(), false);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string& part = parts[i];
    const std::size_t equals = part.find('=');
    const bool all = equals == std::string::npos;
    const std::size_t bytes = parse_limit(part, trimmed(all ? part : part.substr(equals + 1)));
    if (all) {
      if (i > 0) {
        throw UsageError(fmt::format(
            "--memory-limit: {} is for all devices and comes once, before limits of single ones",
            part));
      }
      for (std::size_t d = 0; d < names.size(); ++d)
        limits[d] = in_host_memory(names[d]) ? 0 : bytes;
      continue;
    }
    const std::size_t device =
        find_device("--memory-limit", trimmed(part.substr(0, equals)), names);
    if (in_host_memory(names[device])) refuse_host_limit(names[device]);
    if (named[device]) {
      throw UsageError(fmt::format("--memory-limit: {} is given twice", names[device]));
    }
    named[device] = true;
    limits[device] = bytes;
  }
  return limits;
}

RunDevices open_devices(const TrainOptions& options, const DeviceContext& context) {
  FoundDevices found{options.devices, {}};
  const bool automatic = trimmed(options.devices) == "auto";
  if (automatic) found = context.automatic();
  const std::string& list = found.list;
  std::vector<std::string> names;
  for (const auto& name : split(list)) {
    if (name.empty()) {
      throw UsageError(fmt::format("--devices '{}': names no device{}", list,
                                   names.empty() ? "" : " after a comma"));
    }
    if (name == "auto") {
      throw UsageError(fmt::format(
          "--devices '{}': auto stands alone; it is every device here that can help", list));
    }
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      const std::string why_not = why_not_twice(name);
      if (!why_not.empty()) throw UsageError("--devices: " + why_not);
    }
    names.push_back(name);
  }
  const auto limits = parse_memory_limits(options.memory_limit, names);
  const std::string limit_note = note_or_refuse_limit(options, names, found);
  RunDevices devices;
  for (std::size_t i = 0; i < names.size(); ++i) {
    devices.devices.push_back(context.make(names[i], {.memory_limit = limits[i],
                                                      .cache_directory = context.cache_directory,
                                                      .say = context.say}));
    names[i] = devices.devices.back()->name();
    refuse_overlap(names, i);
  }
  if (automatic) devices.found = fmt::format("{}", fmt::join(names, ","));
  if (!found.left_out.empty()) {
    devices.notes.push_back(fmt::format("left out: {}", fmt::join(found.left_out, "; ")));
  }
  if (!limit_note.empty()) devices.notes.push_back(limit_note);
  if (auto note = crowding(names); !note.empty()) devices.notes.push_back(std::move(note));
  devices.speeds = parse_emulation(options.emulate, names);
  return devices;
}

std::unique_ptr<Device> open_one_device(const std::string& option, const std::string& name,
                                        const std::string& memory_limit,
                                        const DeviceContext& context) {
  if (name.find(',') != std::string::npos) {
    throw UsageError(
        fmt::format("{} '{}': this command works on one device; name one of them", option, name));
  }
  if (!trimmed(memory_limit).empty() && in_host_memory(name)) refuse_host_limit(name);
  return context.make(name, {.memory_limit = parse_memory_limits(memory_limit, {name})[0],
                             .cache_directory = context.cache_directory,
                             .say = context.say});
}

void keep_devices(TrainOptions& options, const std::vector<std::string>& names,
                  const std::vector<std::size_t>& kept) {
  const auto speeds = parse_emulation(options.emulate, names);
  const auto limits = parse_memory_limits(options.memory_limit, names);
  std::vector<std::string> devices, emulation, memory;
  for (const std::size_t i : kept) {
    if (!speeds.empty() && speeds[i] < 1) {
      emulation.push_back(fmt::format("{}=x{}", devices.size(), speeds[i]));
    }
    if (limits[i] > 0) memory.push_back(fmt::format("{}={}", devices.size(), limits[i] / kMega));
    devices.push_back(names[i]);
  }
  options.devices = fmt::format("{}", fmt::join(devices, ","));
  options.emulate = fmt::format("{}", fmt::join(emulation, ","));
  options.memory_limit = fmt::format("{}", fmt::join(memory, ","));
}

}  // namespace evener
