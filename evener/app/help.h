// Help texts laid out for people: usage first, wrapped at 80 columns, examples last.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace evener {

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
};

}  // namespace evener
