#include "tests/data/make_support.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "evener/core/error.h"
#include "evener/data/make/package_index.h"

namespace evener {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

template <class Work>
std::string reading_error_of(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(PackageIndex, ReadsTheFieldsItNeeds) {
  const auto packages = parse_package_index(
      "Package: zoo\n"
      "Version: 2.10-28\n"
      "Depends: libc6 (>= 2.4), default-mta | mail-transport-agent, python3:any, x [amd64]\n"
      "Pre-Depends: dpkg\n"
      "Recommends: zip(>= 3)|unzip\n"
      "Suggests: not-this\n"
      "Description: manipulate zip archives\n"
      " In long.\n"
      "Description-md5: 12\n"
      "Tag: role::program, use::compressing,\n"
      " works-with::archive\n"
      "\n"
      "\n"
      "Package: ant\n"
      "Version: 1\n",
      "here");
  ASSERT_EQ(packages.size(), 2U);
  EXPECT_EQ(packages[0].name, "ant");
  EXPECT_THAT(packages[0].installs, IsEmpty());
  EXPECT_EQ(packages[1].name, "zoo");
  EXPECT_EQ(packages[1].version, "2.10-28");
  EXPECT_EQ(packages[1].synopsis, "manipulate zip archives");
  EXPECT_THAT(packages[1].installs,
              ElementsAre("libc6", "default-mta", "python3", "x", "dpkg", "zip"));
  EXPECT_THAT(packages[1].tags,
              ElementsAre("role::program", "use::compressing", "works-with::archive"));
}

TEST(PackageIndex, KeepsTheHighestVersionOfAPackage) {
  const auto packages = parse_package_index(
      "Package: a\nVersion: 9\nDescription: nine\n\n"
      "Package: a\nVersion: 10\nDescription: ten\n\n"
      "Package: a\nVersion: 10~rc1\nDescription: nearly\n",
      "here");
  ASSERT_EQ(packages.size(), 1U);
  EXPECT_EQ(packages[0].synopsis, "ten");
}

TEST(PackageIndex, NamesTheLineThatIsWrong) {
  EXPECT_THAT(reading_error_of([] { parse_package_index("Package: a\n b\nnonsense\n", "f"); }),
              HasSubstr("f:3: not `Field: value`"));
  EXPECT_THAT(reading_error_of([] { parse_package_index("nonsense\n continued: here\n", "f"); }),
              HasSubstr("f:1: not `Field: value`"));
  EXPECT_THAT(reading_error_of([] { parse_package_index("Version: 1\n\n", "f"); }),
              HasSubstr("f:2: a record without Package:"));
  EXPECT_THAT(parse_package_index("", "f"), IsEmpty());
}

TEST(PackageIndex, ReadsCompressedAndPlainFiles) {
  const TestFolder folder;
  const std::string text = "Package: a\nVersion: 1\n";
  const gzFile out = gzopen(folder.file("p.gz").c_str(), "wb");
  gzputs(out, text.c_str());
  gzclose(out);
  for (const std::string& path : {folder.file("p.gz"), folder.file("plain", text)}) {
    const PackageIndex index = read_package_index(path);
    ASSERT_EQ(index.packages.size(), 1U);
    EXPECT_EQ(index.packages[0].name, "a");
    EXPECT_EQ(index.source, path);
    EXPECT_EQ(index.date.size(), 10U);
  }
}

TEST(PackageIndex, SaysWhatIsWrongWithAFile) {
  const TestFolder folder;
  const auto error = [](const std::string& path) {
    return reading_error_of([&] { read_package_index(path); });
  };
  EXPECT_THAT(error(folder.file("absent")), HasSubstr("absent: there is no such file"));
  EXPECT_THAT(error(folder.file("empty", "")), HasSubstr("holds no package"));
  EXPECT_THAT(error(folder.file("")), HasSubstr("is a directory"));

  const gzFile out = gzopen(folder.file("p.gz").c_str(), "wb");
  for (int i = 0; i < 1000; ++i) gzprintf(out, "Package: a%d\n\n", i * 7919);
  gzclose(out);
  const std::string whole = contents_of(folder.file("p.gz"));
  const std::string cut = folder.file("cut.gz", whole.substr(0, whole.size() / 2));
  EXPECT_THAT(error(cut), HasSubstr("cut.gz"));
}

TEST(Versions, AreOrderedAsDpkgDoes) {
  // Each is below the next.
  const std::vector<std::string> ascending = {
      "0~~",   "0~",       "0",      "0.1~rc1-1", "0.1-1",  "0.1-1+b1", "0.1-2", "0.2",  "0.9",
      "0.10",  "0.10a",    "0.10a1", "0.10+dfsg", "0.10.1", "1.0~beta", "1.0",   "1.0a", "1.0+",
      "2.0-1", "2.0-10~x", "2.0-10", "2.0-1-1",   "10",     "1:0.5",    "2:0.1", "10:0"};
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    for (std::size_t j = 0; j < ascending.size(); ++j) {
      const int order = compare_versions(ascending[i], ascending[j]);
      EXPECT_EQ(order < 0, i < j) << ascending[i] << " and " << ascending[j];
      EXPECT_EQ(order > 0, i > j) << ascending[i] << " and " << ascending[j];
    }
  }
  EXPECT_EQ(compare_versions("1.0", "0:1.0-0"), 0);
  EXPECT_EQ(compare_versions("1.01", "1.1"), 0);
}

}  // namespace
}  // namespace evener
