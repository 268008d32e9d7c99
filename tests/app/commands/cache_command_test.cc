#include <filesystem>

#include "tests/app/command.h"

namespace evener {
namespace {

class CacheCommand : public CommandTest {
 protected:
  void fill() {
    for (const std::string file : {"train.txt", "test.txt"}) {
      const Outcome outcome = run({"train", folder_ / file, "--hidden", "4", "--epochs", "1",
                                   "--devices", "cpu:1", "--quiet"});
      ASSERT_EQ(outcome.code, 0) << outcome.err;
    }
  }
  json listed() { return json::parse(run({"cache", "--json"}).out); }
};

TEST_F(CacheCommand, ListsAndRemovesTheCopiesOfData) {
  EXPECT_THAT(run({"cache"}).out, HasSubstr("cache: 0 files, 0 B of at most "));
  fill();
  const json list = listed();
  ASSERT_EQ(list.at("entries").size(), 2U);
  EXPECT_EQ(list.at("entries")[0].at("source"), "test.txt");  // used last
  EXPECT_EQ(list.at("entries")[1].at("source"), "train.txt");
  EXPECT_THAT(run({"cache", "list"}).out,
              AllOf(HasSubstr("train.txt\n"), HasSubstr(": 2 files, ")));
  EXPECT_THAT(run({"cache", "clean"}).out, HasSubstr(": removed 2 files and 0 incomplete files, "));
  EXPECT_TRUE(listed().at("entries").empty());
}

TEST_F(CacheCommand, TheLimitComesFromTheEnvironment) {
  environment_.push_back("EVENER_CACHE_LIMIT=1K");
  fill();
  const json list = listed();
  EXPECT_EQ(list.at("limit"), 1000);
  ASSERT_EQ(list.at("entries").size(), 1U);  // the newest stays
  EXPECT_EQ(list.at("entries")[0].at("source"), "test.txt");
}

TEST_F(CacheCommand, WrongUsageIsNamed) {
  expect_error({"cache", "clear"}, 2, "ACTION 'clear': must be list or clean");
  for (const std::string limit :
       {"lots", "-1", "5T", "1.5G", "99999999999999999999", "99999999999999G"}) {
    environment_.back() = "EVENER_CACHE_LIMIT=" + limit;
    expect_error({"cache"}, 2, "EVENER_CACHE_LIMIT: '" + limit + "' is not a number of bytes");
  }
}

TEST_F(CacheCommand, ControlCharactersInNamesAreSpeltOut) {
  const std::string strange = folder_ / "a\x1b[2Jb.txt";
  std::filesystem::copy_file(folder_ / "train.txt", strange);
  const Outcome outcome =
      run({"train", strange, "--hidden", "4", "--epochs", "1", "--devices", "cpu:1", "--quiet"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(run({"cache"}).out, AllOf(HasSubstr("a\\x1b[2Jb.txt"), Not(HasSubstr("\x1b"))));
  expect_error({"info", folder_ / "no\x1b[1m"}, 2, "no\\x1b[1m");
}

}  // namespace
}  // namespace evener
