// The commands, one per file: each function adds its command to the command line.
#pragma once

#include <CLI/CLI.hpp>

#include "evener/app/shell/environment.h"

namespace evener {

/// State that the commands share, and the exit code.
struct Shell {
  Environment environment;
  int exit_code = 0;
};

void add_train(CLI::App& app, Shell& shell);
void add_coordinator(CLI::App& app, Shell& shell);
void add_worker(CLI::App& app, Shell& shell);
void add_server(CLI::App& app, Shell& shell);
void add_status(CLI::App& app, Shell& shell);
void add_certs(CLI::App& app, Shell& shell);
void add_test(CLI::App& app, Shell& shell);
void add_predict(CLI::App& app, Shell& shell);
void add_devices(CLI::App& app, Shell& shell);
void add_dataset(CLI::App& app, Shell& shell);
void add_convert(CLI::App& app, Shell& shell);
void add_info(CLI::App& app, Shell& shell);
void add_cache(CLI::App& app, Shell& shell);
void add_strategies(CLI::App& app, Shell& shell);
void add_compare(CLI::App& app, Shell& shell);
void add_profile(CLI::App& app, Shell& shell);
void add_simulate(CLI::App& app, Shell& shell);
void add_options(CLI::App& app, Shell& shell);

}  // namespace evener
