// evener devices
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "evener/app/commands/commands.h"
#include "evener/app/shell/output.h"
#include "evener/core/cores.h"
#include "evener/device/cpu/cpu_device.h"
#include "evener/device/cuda/probe.h"
#include "evener/device/opencl/list.h"

namespace evener {

namespace {

using Json = nlohmann::ordered_json;

/// Highway says AVX3, AVX3_DL, ...; people say AVX-512.
std::string cpu_description() {
  const std::string text = cpu::cpu_description();
  const std::size_t comma = text.rfind(", AVX3");
  return comma == std::string::npos ? text : text.substr(0, comma) + ", AVX-512";
}

Json cpu() {
  const int cores = available_cores();
  const double one = cpu::measure_peak(1) / 1e9;
  const double all = cores == 1 ? one : cpu::measure_peak(cores) / 1e9;
  return {{"name", "cpu"},  {"description", cpu_description()},
          {"usable", true}, {"cores", cores},
          {"gflops", all},  {"gflops_one_core", one}};
}

Json opencl_device(const opencl::Listed& listed) {
  Json device{{"name", opencl::to_string(listed.place)},
              {"description", listed.description},
              {"usable", listed.usable},
              {"compute_units", listed.compute_units},
              {"memory_bytes", listed.memory},
              {"same_cores_as_cpu", listed.processor}};
  if (!listed.usable) {
    device["why_not"] = listed.why_not;
  } else if (listed.processor && listed.compute_units > 1) {
    // Only processors can be split.
    auto& parts = device["parts"] = Json::array();
    for (int part = 0; part < static_cast<int>(listed.compute_units); ++part) {
      opencl::Place place = listed.place;
      place.part = part;
      parts.push_back(opencl::to_string(place));
    }
  }
  return device;
}

Json not_usable(const char* name, const std::string& why) {
  return {{"name", name}, {"usable", false}, {"why_not", why}};
}

Json all_devices() {
  Json devices = Json::array({cpu()});
  const auto listed = opencl::list();
  for (const auto& device : listed) devices.push_back(opencl_device(device));
  if (listed.empty()) {
    devices.push_back(
        not_usable("opencl",
                   "no OpenCL runtime is installed, or it has no device; cards need the runtime "
                   "of their maker, processors pocl-opencl-icd (Debian's name)"));
  }
  const cuda::Probe probe = cuda::probe();
  for (const auto& device : probe.cards) {
    devices.push_back({{"name", device.name},
                       {"description", device.description},
                       {"usable", true},
                       {"memory_bytes", device.memory}});
  }
  if (probe.cards.empty()) devices.push_back(not_usable("cuda", probe.why_not));
  return devices;
}

std::string text_of(const Json& device) {
  const auto name = device["name"].get<std::string>();
  const std::string description = device.value("description", "");
  if (!device["usable"]) {
    return fmt::format("{:<12}{}not usable: {}\n", name,
                       description.empty() ? "" : description + ", ",
                       device["why_not"].get<std::string>());
  }
  std::string text = fmt::format("{:<12}{}\n", name, description);
  if (name == "cpu") {
    const int cores = device["cores"];
    return text + fmt::format("{:<12}{} {}, {:.0f} GFLOP/s measured ({:.0f} on one core)\n", "",
                              cores, cores == 1 ? "core" : "cores", device["gflops"].get<double>(),
                              device["gflops_one_core"].get<double>());
  }
  std::string facts =
      fmt::format("{:.1f} GB of memory", device["memory_bytes"].get<double>() / 1e9);
  if (device.contains("compute_units")) {
    facts = fmt::format("{} compute units, {}", device["compute_units"].get<unsigned>(), facts);
  }
  if (device.value("same_cores_as_cpu", false)) facts += "; the same cores as cpu";
  text += fmt::format("{:<12}{}\n", "", facts);
  if (!device.contains("parts")) return text;
  const Json& parts = device["parts"];
  return text + fmt::format("{:<12}parts of one unit each: {} to {}\n", "",
                            parts.front().get<std::string>(), parts.back().get<std::string>());
}

void run(bool json) {
  const Json devices = all_devices();
  if (json) return print(devices.dump() + "\n");
  for (const auto& device : devices) print_text(text_of(device));
}

}  // namespace

void add_devices(CLI::App& app, Shell&) {
  auto* command = app.add_subcommand("devices", "what can train here, and how fast it is");
  command->footer(
      "The names are those that --devices takes. cpu:T is T threads; opencl:P.D.S is\n"
      "compute unit S of a device that can be split, as processors can.\n\n"
      "Examples:\n"
      "  evener devices\n"
      "  evener devices --json");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "print JSON");
  command->callback([json] { run(*json); });
}

}  // namespace evener
