// evener certs
#include "evener/cluster/transport/certs.h"

#include <memory>

#include <fmt/format.h>

#include "evener/app/commands/commands.h"
#include "evener/app/shell/output.h"
#include "evener/run/options/option_builders.h"

namespace evener {

namespace {

constexpr const char* kCertsExamples =
    "Examples:\n"
    "  evener certs certs --hosts node1,node1.example.org,10.0.0.1\n\n"
    "Makes an authority, and what coordinator and workers show each other. Copy ca.pem,\n"
    "worker.pem and worker.key to the workers. The authority's key is not kept.";

constexpr int kMostDays = 36500;

}  // namespace

void add_certs(CLI::App& app, Shell& /*shell*/) {
  auto* command = app.add_subcommand("certs", "make certificates for a cluster");
  command->footer(kCertsExamples);
  auto options = std::make_shared<CertsOptions>();
  command->add_option("FOLDER", options->folder, "where they are written")
      ->required()
      ->type_name("FOLDER");
  command
      ->add_option("--hosts", options->hosts,
                   "names and addresses by which workers reach the coordinator "
                   "[localhost,127.0.0.1]")
      ->delimiter(',')
      ->type_name("LIST");
  command
      ->add_option_function<std::string>(
          "--days",
          [options](const std::string& text) {
            options->days = parse_whole_number("days", text, 1, kMostDays);
          },
          "how long they are valid [365]")
      ->type_name("N");
  command->callback([options] {
    make_certs(*options);
    print(fmt::format("{}: certificates for {} days\n", options->folder, options->days));
  });
}

}  // namespace evener
