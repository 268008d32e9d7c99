// evener dataset
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "evener/app/commands/commands.h"
#include "evener/app/shell/output.h"
#include "evener/core/counted.h"
#include "evener/core/error.h"
#include "evener/core/nearest.h"
#include "evener/data/make/make.h"

namespace evener {

namespace {

using Names = std::vector<std::string>;

const Names kDebian{"debian-tags", "debian-depends"};
const Names kSynthetic{"synthetic"};
/// Data sets whose test rows are chosen here; fashion-mnist has its own.
const Names kSplit{"debian-tags", "debian-depends", "synthetic"};
const Names kAll{"debian-tags", "debian-depends", "fashion-mnist", "synthetic"};

bool contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Where an option has an effect.
struct OptionScope {
  const CLI::Option* option;
  Names data_sets;
  bool in_shape;  // --shape sets it
};

struct DatasetOptions {
  std::string name;
  std::string directory;
  bool force = false;
  DebianOptions debian;
  SyntheticOptions synthetic;
  std::string shape;
  double test_share = 0.1;
  std::uint64_t seed = 0;
  std::vector<OptionScope> scopes;
};

/// UsageError if an option was given that this data set, or its shape, would ignore.
void check_scopes(const DatasetOptions& options) {
  for (const auto& [option, data_sets, in_shape] : options.scopes) {
    if (option->count() == 0) continue;
    if (!contains(data_sets, options.name)) {
      throw UsageError(fmt::format("{} has no effect on {}: it is an option of {}",
                                   option->get_name(), options.name, fmt::join(data_sets, ", ")));
    }
    if (in_shape && !options.shape.empty()) {
      throw UsageError(
          fmt::format("{} has no effect with --shape, which sets it", option->get_name()));
    }
  }
}

int all_cores() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

MadeData make(DatasetOptions options) {
  options.debian.seed = options.synthetic.seed = options.seed;
  options.debian.test_share = options.synthetic.test_share = options.test_share;
  options.synthetic.threads = all_cores();
  if (options.name == "debian-tags") return make_debian_tags(options.debian);
  if (options.name == "debian-depends") return make_debian_depends(options.debian);
  if (options.name == "fashion-mnist") {
    FashionMnistOptions fashion;
    fashion.threads = all_cores();
    return make_fashion_mnist(fashion);
  }
  return make_synthetic(options.shape.empty()
                            ? options.synthetic
                            : synthetic_of_shape(options.shape, options.synthetic));
}

void run_dataset(const DatasetOptions& options) {
  if (!contains(kAll, options.name)) {
    throw UsageError(fmt::format("unknown data set '{}'{}; valid: {}", options.name,
                                 did_you_mean(options.name, kAll), fmt::join(kAll, ", ")));
  }
  check_scopes(options);
  const std::string directory =
      options.directory.empty() ? "data/" + options.name : options.directory;
  check_target(directory, options.force);
  const MadeData data = make(options);
  write_made(data, directory, options.force);
  print_text(fmt::format(
      "{}\n{}: {}, {}, {}, {}\n", data.description, directory,
      counted(data.train.rows(), "training row"), counted(data.test.rows(), "test row"),
      counted(data.train.feature_count, "feature"), counted(data.train.label_count, "label")));
}

std::string shape_names() {
  std::string names;
  for (const auto& shape : synthetic_shapes()) {
    names += (names.empty() ? "" : ", ") + std::string(shape.name);
  }
  return names;
}

}  // namespace

void add_dataset(CLI::App& app, Shell&) {
  auto* command = app.add_subcommand("dataset", "make a data set, with nothing to download");
  command->footer(
      "Data sets:\n"
      "  debian-tags      30,000 packages, 600 tags, from the package index of this machine\n"
      "  debian-depends   57,000 packages: what each is installed with, 41,000 labels\n"
      "  fashion-mnist    70,000 pictures of clothing (Debian package dataset-fashion-mnist)\n"
      "  synthetic        any size, with a structure that can be learned\n\n"
      "Examples:\n"
      "  evener dataset debian-tags -o data/tags\n"
      "  evener dataset synthetic --rows 100000 --labels 20000 -o data/large");
  auto options = std::make_shared<DatasetOptions>();
  DatasetOptions& o = *options;
  const auto number = [&](const char* name, auto& value, const std::string& help) {
    return command->add_option(name, value, help + fmt::format(" ({})", value))->type_name("N");
  };
  const auto scoped = [&](CLI::Option* option, const Names& data_sets, const char* group,
                          bool in_shape = false) {
    option->group(group);
    o.scopes.push_back({option, data_sets, in_shape});
  };
  command->add_option("NAME", o.name, "data set to make; see below")->required();
  command->add_option("-o,--output", o.directory, "folder to write (data/NAME)")->type_name("PATH");
  command->add_flag("--force", o.force, "replace an existing data set");
  const char* split = "Options for debian-* and synthetic";
  scoped(number("--test-share", o.test_share, "share of the rows for testing"), kSplit, split,
         true);
  scoped(number("--seed", o.seed, "seed of the split, or of the synthetic data"), kSplit, split);
  const char* debian = "Options for debian-*";
  scoped(
      command
          ->add_option("--index", o.debian.index, "Packages file to read (default: those of apt)")
          ->type_name("PATH"),
      kDebian, debian);
  scoped(number("--min-feature-packages", o.debian.min_feature_packages,
                "keep features that occur in at least N packages; 0: the data set's default"),
         kDebian, debian);
  scoped(number("--min-label-packages", o.debian.min_label_packages,
                "keep labels that occur in at least N packages; 0: the data set's default"),
         kDebian, debian);
  const char* synthetic = "Options for synthetic";
  SyntheticOptions& s = o.synthetic;
  scoped(command
             ->add_option("--shape", o.shape,
                          "take the sizes of a published data set: " + shape_names())
             ->type_name("NAME"),
         kSynthetic, synthetic);
  const auto of_shape = [&](CLI::Option* option) { scoped(option, kSynthetic, synthetic, true); };
  of_shape(number("--rows", s.rows, "training rows"));
  of_shape(number("--features", s.features, "features"));
  of_shape(number("--labels", s.labels, "labels"));
  of_shape(number("--features-per-row", s.features_per_row, "mean number of features in a row"));
  of_shape(number("--labels-per-row", s.labels_per_row, "mean number of labels in a row"));
  scoped(number("--feature-exponent", s.feature_exponent,
                "exponent of the Zipf distribution of features"),
         kSynthetic, synthetic);
  of_shape(
      number("--label-exponent", s.label_exponent, "exponent of the Zipf distribution of labels"));
  scoped(number("--noise", s.noise, "share of features that are noise"), kSynthetic, synthetic);
  command->callback([options] { run_dataset(*options); });
}

}  // namespace evener
