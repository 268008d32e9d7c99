// evener devices
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "evener/app/commands/commands.h"
#include "evener/app/shell/output.h"
#include "evener/device/registry.h"
#include "evener/run/report/text_width.h"

namespace evener {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const ListedDevice& device) {
  Json json{
      {"name", device.name}, {"description", device.description}, {"usable", device.usable()}};
  for (const DeviceFact& fact : device.facts) {
    std::visit([&](const auto& value) { json[fact.name] = value; }, fact.value);
  }
  if (!device.usable()) json["why_not"] = device.why_not;
  return json;
}

std::string text_of(const ListedDevice& device) {
  if (!device.usable()) {
    return fmt::format("{:<12}{}not usable: {}\n", device.name,
                       device.description.empty() ? "" : device.description + ", ", device.why_not);
  }
  std::string text = fmt::format("{:<12}{}\n", device.name, device.description);
  for (const auto& line : device.lines) text += fmt::format("{:<12}{}\n", "", line);
  return text;
}

void print_json() {
  Json devices = Json::array();
  for (const DeviceKind& kind : device_kinds()) {
    const DeviceList list = kind.list();
    for (const auto& device : list.devices) devices.push_back(json_of(device));
    if (list.devices.empty()) {
      devices.push_back({{"name", kind.name}, {"usable", false}, {"why_not", list.why_none}});
    }
  }
  print(devices.dump() + "\n");
}

void print_list() {
  for (const DeviceKind& kind : device_kinds()) {
    const DeviceList list = kind.list();
    for (const auto& device : list.devices) print_text(text_of(device));
    if (list.devices.empty()) {
      print_text(fmt::format("{:<12}not usable: {}\n", kind.name, list.why_none));
    }
  }
}

std::string footer() {
  std::string names;
  for (const DeviceKind& kind : device_kinds()) {
    if (!kind.help.empty()) names += (names.empty() ? "" : "; ") + kind.help;
  }
  return wrapped("The names are those that --devices takes. " + names + ".", 78) +
         "\n\nExamples:\n"
         "  evener devices\n"
         "  evener devices --json";
}

}  // namespace

void add_devices(CLI::App& app, Shell&) {
  auto* command = app.add_subcommand("devices", "list the devices of this machine and their speed");
  command->footer(footer());
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "print JSON");
  command->callback([json] { *json ? print_json() : print_list(); });
}

}  // namespace evener
