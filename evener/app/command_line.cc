#include "evener/app/command_line.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>

#include "evener/app/commands/commands.h"
#include "evener/app/options/table_options.h"
#include "evener/app/shell/help.h"
#include "evener/app/shell/output.h"
#include "evener/app/shell/version.h"
#include "evener/core/error.h"
#include "evener/core/nearest.h"

namespace evener {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  evener dataset debian-tags -o data/debian-tags\n"
    "  evener train data/debian-tags -o runs/tags\n"
    "  evener test runs/tags data/debian-tags\n"
    "  evener predict runs/tags data/debian-tags -k 3 | head\n"
    "\n"
    "`evener COMMAND --help`, or `evener help COMMAND`, says more about each.";

/// `--learning_rate` is `--learning-rate`; values and what follows `--` stay as they are.
std::string with_dashes(std::string argument) {
  if (argument.rfind("--", 0) != 0) return argument;
  const auto end =
      argument.begin() + static_cast<std::ptrdiff_t>(std::min(argument.find('='), argument.size()));
  std::replace(argument.begin(), end, '_', '-');
  return argument;
}

std::vector<std::string> arguments_of(int argc, const char* const* argv) {
  std::vector<std::string> arguments;
  bool options = true;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--") options = false;
    arguments.push_back(options ? with_dashes(argument) : argument);
  }
  return arguments;
}

constexpr const char* kEverything = "all";  // of `--help all`

/// `evener help train` is `evener train --help`, and `evener help train all` its long form.
std::vector<std::string> with_help_option(std::vector<std::string> arguments) {
  if (arguments.empty() || arguments.front() != "help") return arguments;
  const bool everything = arguments.size() == 3 && arguments[2] == kEverything;
  if (arguments.size() > 2 && !everything) {
    throw UsageError("unexpected argument '" + arguments[2] + "'; help is for one command");
  }
  arguments.erase(arguments.begin());
  arguments.insert(arguments.begin() + (arguments.empty() ? 0 : 1), "--help");
  return arguments;
}

/// Removes the `all` of `--help all`, and returns whether it was there.
bool take_everything(std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i + 1 < arguments.size() && arguments[i] != "--"; ++i) {
    if ((arguments[i] != "--help" && arguments[i] != "-h") || arguments[i + 1] != kEverything) {
      continue;
    }
    arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return true;
  }
  return false;
}

std::vector<std::string> long_names(const CLI::App& command, bool hidden = true) {
  std::vector<std::string> names;
  for (const auto* option : command.get_options()) {
    if (!hidden && option->get_group().empty()) continue;
    for (const auto& name : option->get_lnames()) names.push_back(name);
  }
  return names;
}

/// Names the commands that have the option, else the nearest one of this command.
[[noreturn]] void refuse_option(const CLI::App& app, const CLI::App& command,
                                const std::string& name) {
  std::vector<std::string> others;
  for (const auto* other : app.get_subcommands({})) {
    const auto names = long_names(*other, false);
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      others.push_back("evener " + other->get_name());
    }
  }
  if (!others.empty()) {
    const std::string here = &command == &app ? "evener" : "evener " + command.get_name();
    throw UsageError(
        fmt::format("--{} is not an option of {}, but of {}", name, here, fmt::join(others, ", ")));
  }
  throw UsageError("unknown option '--" + name + "'" +
                   did_you_mean(name, long_names(command), "--"));
}

/// Runs before parsing, so that the error names a misspelt option and not its value.
void check_names(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::App* command = &app;
  for (const auto& argument : arguments) {
    if (argument == "--") return;
    if (argument.rfind("--", 0) == 0) {
      const std::string name = argument.substr(2, argument.find('=') - 2);
      const auto names = long_names(*command);
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        refuse_option(app, *command, name);
      }
    } else if (command == &app && argument[0] != '-') {
      std::vector<std::string> names;
      for (const auto* known : app.get_subcommands({})) {
        names.push_back(known->get_name());
        if (known->get_name() == argument) command = known;
      }
      if (command == &app) {
        throw UsageError("unknown command '" + argument + "'" + did_you_mean(argument, names));
      }
    }
  }
}

std::string see_help(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return "; see evener " + (chosen.empty() ? "" : chosen.front()->get_name() + " ") + "--help";
}

void parse(CLI::App& app, std::vector<std::string> arguments) {
  if (arguments.empty()) {
    print(app.help());
    return;
  }
  const bool everything = take_everything(arguments);
  check_names(app, arguments);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    if (!chosen.empty() && !everything) shorten_help(*chosen.front());
    print(chosen.empty() ? app.help() : chosen.front()->help());
  } catch (const CLI::CallForVersion&) {
    print(std::string("evener ") + kVersion + "\n");
  } catch (const CLI::ExtrasError&) {
    throw UsageError("unexpected argument '" + app.remaining(true).front() + "'" + see_help(app));
  } catch (const CLI::ArgumentMismatch& problem) {
    const std::string what = problem.what();
    throw UsageError(what.substr(0, what.find(':')) + ": a value is missing" + see_help(app));
  } catch (const CLI::ParseError& problem) {
    throw UsageError(problem.what() + see_help(app));
  }
}

/// Connections and files need more than the usual soft limit of 1024, which is for old programs
/// that use select().
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int report(const std::string& what, int exit_code) {
  print_error(what);
  return exit_code;
}

/// At most 80: longer lines are hard to read.
std::size_t help_width() {
  return static_cast<std::size_t>(std::min(80, display_of(fileno(stdout)).width));
}

int run(const std::vector<std::string>& arguments) {
  Shell shell{read_environment()};
  CLI::App app("Trains one network on unequal hardware: sparse input, very many labels.", "evener");
  auto formatter = std::make_shared<HelpFormatter>(help_width());
  formatter->label("Positionals", "Arguments");
  app.formatter(formatter);
  app.set_version_flag("--version", kVersion, "print the version");
  app.set_help_flag("-h,--help", "print this help");
  app.option_defaults()->take_last();
  for (const auto add :
       {add_train, add_test, add_predict, add_devices, add_strategies, add_compare, add_profile,
        add_simulate, add_coordinator, add_worker, add_server, add_status, add_certs, add_dataset,
        add_convert, add_info, add_cache, add_options}) {
    add(app, shell);
  }
  app.footer(kExamples);  // before the commands are added: they inherit it
  for (auto* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) command->group("Commands");
  }
  try {
    parse(app, arguments);
    flush_output();
  } catch (const OutputClosed&) {
    // The work is done; the reader of standard output has closed it.
  }
  return shell.exit_code;
}

}  // namespace

int run_command_line(int argc, const char* const* argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a write to a closed pipe then fails with EPIPE
  std::signal(SIGXFSZ, SIG_IGN);  // a file that is too large for `ulimit -f`: EFBIG
  raise_descriptor_limit();
  try {
    return run(with_help_option(arguments_of(argc, argv)));
  } catch (const UsageError& problem) {
    return report(problem.what(), 2);
  } catch (const std::bad_alloc&) {
    return report("not enough memory", 1);
  } catch (const std::exception& problem) {
    return report(message_of(problem), 1);
  }
}

}  // namespace evener
