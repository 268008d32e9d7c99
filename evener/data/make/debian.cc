// The data sets debian-tags and debian-depends, from the package index of a Debian machine.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/data/make/make.h"
#include "evener/data/make/named_rows.h"
#include "evener/data/make/package_index.h"
#include "evener/data/make/words.h"

namespace evener {

namespace {

// A word that half of the packages have does not distinguish them; it only makes rows longer.
constexpr double kMaxFeatureShare = 0.5;

NumberingOptions numbering(const DebianOptions& options, std::uint32_t feature_packages,
                           std::uint32_t label_packages) {
  NumberingOptions result;
  result.min_feature_rows =
      options.min_feature_packages > 0 ? options.min_feature_packages : feature_packages;
  result.min_label_rows =
      options.min_label_packages > 0 ? options.min_label_packages : label_packages;
  result.max_feature_share = kMaxFeatureShare;
  result.test_share = options.test_share;
  result.seed = options.seed;
  return result;
}

MadeData make(const PackageIndex& index, std::vector<NamedRow> rows,
              const NumberingOptions& options, std::string name, const std::string& what) {
  MadeData made = number_rows(std::move(rows), options);
  if (made.train.rows() == 0) {
    throw Error(fmt::format(
        "{}: of {} packages none is left with a label of at least {} and a "
        "feature of at least {} packages",
        index.source, index.packages.size(), options.min_label_rows, options.min_feature_rows));
  }
  made.name = std::move(name);
  made.description = fmt::format(
      "{}\n"
      "Features are the words of the package's name and of its synopsis (the description's\n"
      "first line), lower-cased, without stop words; words of the name also as `name:word`,\n"
      "the first and the last as `name:^word` and `name:word$`, neighbours as\n"
      "`name:word-word`. A value is how often the word occurs. Nothing else of the package is\n"
      "used, in particular not its source package. A feature is kept if at least {} packages\n"
      "and at most {:.0f} % of them have it, a label if at least {} packages have it.\n"
      "\n"
      "Index: {}\n"
      "({} packages, last changed {}). A random {:.4g} % (seed {}) are the test\n"
      "rows; binary packages of one source may fall on both sides. Features and labels are\n"
      "numbered over both parts, in the order of their names.\n",
      what, options.min_feature_rows, 100 * options.max_feature_share, options.min_label_rows,
      index.source, index.packages.size(), index.date, 100 * options.test_share, options.seed);
  return made;
}

}  // namespace

MadeData make_debian_tags(const DebianOptions& options) {
  const PackageIndex index = read_package_index(options.index);
  std::vector<NamedRow> rows;
  for (const Package& package : index.packages) {
    if (package.tags.empty()) continue;
    rows.push_back({package.name, package_features(package.name, package.synopsis), package.tags});
  }
  if (rows.empty()) {
    throw Error(index.source +
                ": no package has a Tag: field; Debian's own archive (main) has them, many others "
                "have not");
  }
  return make(index, std::move(rows), numbering(options, 3, 2), "debian-tags",
              "The tags (debtags) that people gave to Debian's packages, to be told from name and\n"
              "synopsis. Rows are the packages that have tags.");
}

MadeData make_debian_depends(const DebianOptions& options) {
  const PackageIndex index = read_package_index(options.index);
  std::vector<NamedRow> rows;
  for (const Package& package : index.packages) {
    NamedRow row{package.name, package_features(package.name, package.synopsis), package.installs};
    std::erase(row.labels, package.name);
    if (!row.labels.empty()) rows.push_back(std::move(row));
  }
  if (rows.empty()) throw Error(index.source + ": no package depends on another");
  return make(
      index, std::move(rows), numbering(options, 2, 1), "debian-depends",
      "What a Debian package depends on, to be told from its name and synopsis. Labels are\n"
      "the packages that Pre-Depends, Depends and Recommends name: what is installed along\n"
      "with it by default. Of alternatives (a | b) the first counts.");
}

}  // namespace evener
