#include "evener/app/shell/environment.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "evener/core/error.h"

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

/// Bytes; K, M and G are powers of 1000.
std::optional<std::uint64_t> cache_limit_given() {
  const std::string text = variable("EVENER_CACHE_LIMIT");
  if (text.empty()) return std::nullopt;
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  const std::string_view suffix(stop, static_cast<std::size_t>(end - stop));
  const std::uint64_t unit = suffix.empty()  ? 1
                             : suffix == "K" ? 1'000
                             : suffix == "M" ? 1'000'000
                             : suffix == "G" ? 1'000'000'000
                                             : 0;
  const bool valid = problem == std::errc() && unit > 0 &&
                     value <= std::numeric_limits<std::uint64_t>::max() / unit;
  if (!valid) {
    throw UsageError("EVENER_CACHE_LIMIT: '" + text +
                     "' is not a number of bytes, such as 500M or 20G");
  }
  return value * unit;
}

int number(const std::string& text, int otherwise) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  return problem == std::errc() && stop == end && value >= 0 ? value : otherwise;
}

Environment::Placement placement() {
  Environment::Placement here;
  constexpr std::array<std::pair<const char*, const char*>, 4> kLaunchers{
      {{"RANK", "WORLD_SIZE"},
       {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
       {"PMI_RANK", "PMI_SIZE"},
       {"SLURM_PROCID", "SLURM_NTASKS"}}};
  for (const auto& [rank, size] : kLaunchers) {
    if (here.rank < 0) here.rank = number(variable(rank), -1);
    if (here.processes == 0) here.processes = number(variable(size), 0);
  }
  std::string host = variable("MASTER_ADDR");
  const std::string port = variable("MASTER_PORT");
  if (host.find(':') != std::string::npos && host.front() != '[') host = "[" + host + "]";  // IPv6
  if (!host.empty() && !port.empty()) here.master = host + ":" + port;
  return here;
}

std::string mpi_family() {
  if (!variable("OMPI_COMM_WORLD_SIZE").empty()) return "openmpi";
  if (!variable("PMI_SIZE").empty()) return "mpich";
  return variable("PMIX_RANK").empty() ? "" : "openmpi";
}

}  // namespace

std::vector<std::string> environment_with(const std::string& name, const std::string& value) {
  std::vector<std::string> variables;
  for (char** at = environ; *at != nullptr; ++at) {
    if (std::string_view(*at).rfind(name + "=", 0) != 0) variables.emplace_back(*at);
  }
  variables.push_back(name + "=" + value);
  return variables;
}

Environment read_environment() {
  Environment environment;
  environment.cache = {cache_directory(), cache_limit_given()};
  // A list ("4,2", one per nesting level) is valid; the first number is the one for the outermost
  // level.
  const std::string threads = variable("OMP_NUM_THREADS");
  int count = 0;
  const char* end = threads.data() + threads.size();
  const auto [stop, problem] = std::from_chars(threads.data(), end, count);
  if (problem == std::errc() && (stop == end || *stop == ',') && count > 0) {
    environment.automatic_device = "cpu:" + std::to_string(count);
  }
  environment.display.colour = variable("NO_COLOR").empty();
  environment.display.redraw = variable("TERM") != "dumb";
  environment.token = variable("EVENER_TOKEN");
  environment.placement = placement();
  environment.mpi = mpi_family();
  return environment;
}

}  // namespace evener
