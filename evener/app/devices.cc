// evener devices
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "evener/app/commands.h"
#include "evener/app/output.h"
#include "evener/core/counted.h"
#include "evener/device/cpu/cpu_device.h"

namespace evener {

namespace {

void run(bool json) {
  const int cores = cpu::available_cores();
  const double one = cpu::measure_peak(1) / 1e9;
  const double all = cores == 1 ? one : cpu::measure_peak(cores) / 1e9;
  if (json) {
    const nlohmann::ordered_json device{{"name", "cpu"},
                                        {"description", cpu::cpu_description()},
                                        {"cores", cores},
                                        {"gflops", all},
                                        {"gflops_one_core", one}};
    print(nlohmann::ordered_json::array({device}).dump() + "\n");
    return;
  }
  print_text(fmt::format("{:<8}{}\n{:<8}{}, {:.0f} GFLOP/s measured ({:.0f} on one core)\n", "cpu",
                         cpu::cpu_description(), "",
                         counted(static_cast<std::uint64_t>(cores), "core"), all, one));
}

}  // namespace

void add_devices(CLI::App& app, Shell&) {
  auto* command = app.add_subcommand("devices", "what can train here, and how fast it is");
  command->footer("Examples:\n  evener devices\n  evener devices --json");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "print JSON");
  command->callback([json] { run(*json); });
}

}  // namespace evener
