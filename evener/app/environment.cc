#include "evener/app/environment.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace evener {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string cache_directory() {
  if (auto own = variable("EVENER_CACHE_DIR"); !own.empty()) return own;
  // The XDG specification says to ignore relative paths.
  const auto xdg = variable("XDG_CACHE_HOME");
  if (!xdg.empty() && xdg.front() == '/') return xdg + "/evener";
  const auto home = variable("HOME");
  return home.empty() ? "" : home + "/.cache/evener";
}

}  // namespace

Environment read_environment() {
  Environment environment;
  environment.cache_directory = cache_directory();
  // A list ("4,2", one a nesting level) is legal there; the first number is ours.
  const std::string threads = variable("OMP_NUM_THREADS");
  int count = 0;
  const char* end = threads.data() + threads.size();
  const auto [stop, problem] = std::from_chars(threads.data(), end, count);
  if (problem == std::errc() && (stop == end || *stop == ',') && count > 0) {
    environment.automatic_device = "cpu:" + std::to_string(count);
  }
  environment.display.colour = variable("NO_COLOR").empty();
  environment.display.redraw = variable("TERM") != "dumb";
  return environment;
}

}  // namespace evener
