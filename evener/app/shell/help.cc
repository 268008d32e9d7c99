#include "evener/app/shell/help.h"

#include <sstream>

#include "evener/run/report/text_width.h"

namespace evener {

namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kColumn = 28;       // where descriptions begin
constexpr std::size_t kNarrowColumn = 6;  // the same in a narrow terminal, below the option
constexpr std::size_t kContinued = 6;     // indent of a wrapped command
constexpr std::size_t kLeastBeside = 60;  // narrowest terminal with two columns of text

/// A flag that can be switched off reads `--[no-]NAME`.
std::string names_of(const CLI::Option* option) {
  std::string names;
  for (const auto& name : option->get_snames()) names += "-" + name + ", ";
  const auto& longs = option->get_lnames();
  const bool off = longs.size() > 1 && longs[1] == "no-" + longs[0];
  if (!longs.empty()) return names + (off ? "--[no-]" : "--") + longs[0];
  return names.substr(0, names.size() - 2);
}

/// "N" of "UINT:INT in [1 - 1000]": the parser's own name for the value, without its checks.
std::string value_of(const CLI::Option* option) {
  const std::string type = option->get_type_name();
  for (const char* name : {"HOST:PORT,...", "HOST:PORT"}) {
    if (type.starts_with(name)) return name;
  }
  const std::string name = type.substr(0, type.find(':'));
  if (name == "INT" || name == "UINT") return "N";
  if (name == "FLOAT") return "X";
  return name == "TEXT" ? "WORD" : name;
}

/// Joins each paragraph into one line, to be wrapped later. Indented lines stay as they are.
std::string with_whole_paragraphs(std::string text) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] != '\n') continue;
    const bool prose = i > begin && text[begin] != ' ';
    if (prose && text[i + 1] != ' ' && text[i + 1] != '\n') {
      text[i] = ' ';
    } else {
      begin = i + 1;
    }
  }
  return text;
}

/// Wraps long commands with a backslash, as in a shell.
std::string with_continued_commands(const std::string& text, std::size_t width) {
  std::istringstream lines(text);
  std::string out, line;
  while (std::getline(lines, line)) {
    const bool command = line.starts_with("  evener ") || line.starts_with("  mpirun ");
    const bool comment = line.find("  ", kIndent) != std::string::npos;
    while (command && !comment && line.size() > width) {
      const std::size_t space = line.rfind(' ', width - 2);  // leaves room for the backslash
      if (space <= kContinued) break;
      out += line.substr(0, space) + " \\\n";
      line = std::string(kContinued, ' ') + line.substr(space + 1);
    }
    out += line + '\n';
  }
  return out;
}

}  // namespace

/// `left` in its column, `right` wrapped in the rest of the line.
std::string HelpFormatter::two_columns(const std::string& left, const std::string& right) const {
  const bool beside = width_ >= kLeastBeside;
  const std::size_t begin = beside ? kColumn : kNarrowColumn;
  std::string text = std::string(kIndent, ' ') + left;
  std::size_t column = text.size();
  if (!beside || column + 2 > kColumn) {
    text += '\n';
    column = 0;
  }
  std::istringstream words(right);
  std::string word;
  bool first = true;
  while (words >> word) {
    if (!first && column + 1 + word.size() > width_) {
      text += '\n';
      column = 0;
      first = true;
    }
    if (first) {
      text += std::string(begin - column, ' ');
      column = begin;
    } else {
      text += ' ';
      ++column;
    }
    text += word;
    column += word.size();
    first = false;
  }
  return text + '\n';
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode mode) const {
  const bool top = app->get_parent() == nullptr;
  std::string usage = "Usage: " + (top ? name + " COMMAND ..." : "evener " + app->get_name());
  for (const auto* option : app->get_options()) {
    if (!option->get_positional()) continue;
    usage += option->get_required() ? " " + option->get_name() : " [" + option->get_name() + "]";
  }
  if (!top) usage += " [options]";
  std::string help = wrapped(usage + "\n\n" + app->get_description(), width_) + "\n" +
                     make_subcommands(app, mode) + make_positionals(app) + make_groups(app, mode) +
                     "\n" + make_footer(app);
  for (auto at = help.find("\n\n\n"); at != std::string::npos; at = help.find("\n\n\n")) {
    help.erase(at, 1);
  }
  return help;
}

/// A heading ends with a colon, unless it is a question.
std::string HelpFormatter::make_group(std::string group, bool is_positional,
                                      std::vector<const CLI::Option*> options) const {
  std::string text = "\n" + group + (group.ends_with('?') ? "\n" : ":\n");
  for (const auto* option : options) text += make_option(option, is_positional);
  return text;
}

std::string HelpFormatter::make_footer(const CLI::App* app) const {
  const std::string text = with_whole_paragraphs(CLI::Formatter::make_footer(app));
  return wrapped(with_continued_commands(text, width_), width_);
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  if (is_positional) return two_columns(option->get_name(true), option->get_description());
  std::string left = names_of(option);
  const std::string value = option->get_type_size() == 0 ? "" : value_of(option);
  if (!value.empty()) left += " " + value;
  return two_columns(left, option->get_description());
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  return two_columns(command->get_name(), command->get_description());
}

}  // namespace evener
