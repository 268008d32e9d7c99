#include <algorithm>
#include <filesystem>

#include "tests/data/make_support.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/core/error.h"
#include "evener/data/make/make.h"

namespace evener {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

constexpr const char* kIndex =
    "Package: foo\nSource: secret\nVersion: 1\nDepends: libfoo1, libc6\nDescription: plays foo\n"
    "Tag: role::program, sound::player\n\n"
    "Package: libfoo1\nVersion: 1\nDepends: libc6 (>= 2), libfoo1\nDescription: foo library\n"
    "Tag: role::shared-lib\n\n"
    "Package: libbar1\nSource: secret\nVersion: 1\nRecommends: foo | bar\nDescription: bar "
    "library\n"
    "Tag: role::shared-lib\n\n"
    "Package: libc6\nVersion: 1\nDescription: C library\n\n";

DebianOptions options_for(const TestFolder& folder, const std::string& index) {
  DebianOptions options;
  options.index = folder.file("Packages", index);
  options.test_share = 0;
  options.min_feature_packages = 1;
  options.min_label_packages = 1;
  return options;
}

TEST(DebianTags, TakesPackagesWithTags) {
  const TestFolder folder;
  const MadeData made = make_debian_tags(options_for(folder, kIndex));
  EXPECT_EQ(made.name, "debian-tags");
  EXPECT_THAT(made.train_names, UnorderedElementsAre("foo", "libfoo1", "libbar1"));
  EXPECT_THAT(made.train.label_names,
              ElementsAre("role::program", "role::shared-lib", "sound::player"));
  EXPECT_THAT(made.description, HasSubstr(folder.file("Packages")));
  EXPECT_THAT(made.description, HasSubstr("4 packages"));
}

TEST(DebianTags, DropsRareFeaturesAndLabelsByDefault) {
  const TestFolder folder;
  std::string index;
  for (int i = 0; i < 10; ++i) {
    const std::string number = std::to_string(i);
    index += "Package: p" + number + "\nVersion: 1\nDescription: " + (i < 4 ? "four " : "") +
             (i < 2 ? "two" : "") + "\nTag: " + (i == 0 ? "single::one" : "many::ones") + "\n\n";
  }
  DebianOptions options = options_for(folder, index);
  options.min_feature_packages = options.min_label_packages = 0;
  const MadeData made = make_debian_tags(options);
  EXPECT_THAT(made.features, ElementsAre("four"));
  EXPECT_THAT(made.train.label_names, ElementsAre("many::ones"));
  EXPECT_THAT(made.train_names, UnorderedElementsAre("p1", "p2", "p3"));
}

TEST(DebianDepends, PredictsWhatIsInstalledAlong) {
  const TestFolder folder;
  const MadeData made = make_debian_depends(options_for(folder, kIndex));
  EXPECT_THAT(made.train_names, UnorderedElementsAre("foo", "libfoo1", "libbar1"));
  EXPECT_THAT(made.train.label_names, ElementsAre("foo", "libc6", "libfoo1"));
  const auto row = std::find(made.train_names.begin(), made.train_names.end(), "libfoo1");
  const auto labels =
      made.train.labels.row(static_cast<std::size_t>(row - made.train_names.begin())).indices;
  EXPECT_THAT(labels, ElementsAre(1));  // not itself
}

TEST(DebianDepends, KnowsNothingOfTheSource) {
  const TestFolder folder;
  const MadeData made = make_debian_depends(options_for(folder, kIndex));
  EXPECT_THAT(made.features, Contains("name:foo"));
  EXPECT_THAT(made.features, Not(Contains(HasSubstr("secret"))));
}

TEST(Debian, SaysWhatIsMissing) {
  const TestFolder folder;
  const auto error = [](auto make, const DebianOptions& options) -> std::string {
    try {
      make(options);
    } catch (const Error& what) {
      return what.what();
    }
    return "no error";
  };
  const DebianOptions lonely = options_for(folder, "Package: a\nVersion: 1\nDescription: b\n");
  EXPECT_THAT(error(make_debian_tags, lonely), HasSubstr("no package has a Tag: field"));
  EXPECT_THAT(error(make_debian_depends, lonely), HasSubstr("no package depends on another"));
  DebianOptions strict = options_for(folder, kIndex);
  strict.min_label_packages = 100;
  EXPECT_THAT(error(make_debian_tags, strict), HasSubstr("of 4 packages none is left"));
}

bool has_package_index() {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/var/lib/apt/lists", none)) {
    if (entry.path().filename().string().find("_Packages") != std::string::npos) return true;
  }
  return false;
}

// The sizes that the documentation states, on a machine that has Debian's index.
TEST(Debian, MakesRealSets) {
  if (!has_package_index()) GTEST_SKIP() << "there is no package index in /var/lib/apt/lists";
  const MadeData tags = make_debian_tags({});
  const MadeData depends = make_debian_depends({});
  EXPECT_GT(tags.train.rows(), 20'000U);
  EXPECT_EQ(tags.test.rows(), (tags.train.rows() + tags.test.rows() + 5) / 10);
  EXPECT_NEAR(tags.train.label_count, 600, 100);
  EXPECT_NEAR(static_cast<double>(depends.train.rows() + depends.test.rows()), 57'000, 15'000);
  EXPECT_NEAR(depends.train.feature_count, 46'000, 15'000);
  EXPECT_NEAR(depends.train.label_count, 41'000, 15'000);
}

}  // namespace
}  // namespace evener
