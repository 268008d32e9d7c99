// The layout of help texts: usage first, examples last, wrapped at 80 columns or at the width of a
// narrower terminal.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace evener {

class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::size_t width) : width_(width) {}
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override;
  std::string make_footer(const CLI::App* app) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;

 private:
  std::string two_columns(const std::string& left, const std::string& right) const;

  std::size_t width_;
};

}  // namespace evener
