#include "evener/data/cache_folder.h"

#include <algorithm>
#include <set>
#include <string>

#include "tests/data/helpers.h"
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace evener {
namespace {

namespace fs = std::filesystem;

using Names = std::set<std::string>;

/// The number of a process that has ended.
pid_t ended_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

class CacheFolderTest : public FolderTest {
 protected:
  CacheFolderTest() { fs::create_directory(folder()); }
  std::string folder() const { return name("cache"); }
  /// An entry of `bytes` bytes, used at `second`.
  std::string make_entry(const std::string& source, std::uint64_t key, std::size_t bytes,
                         time_t second) const {
    const std::string path = cache_entry_path(folder(), source, key);
    make("cache/" + fs::path(path).filename().string(), std::string(bytes, 'x'));
    const timespec times[2] = {{second, 0}, {second, 0}};
    EXPECT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    return path;
  }
  std::string make_temporary(pid_t writer, const std::string& source = "train.txt") const {
    const std::string path =
        cache_entry_path(folder(), source, 7) + ".tmp" + std::to_string(writer) + ".0";
    make("cache/" + fs::path(path).filename().string(), "half");
    return path;
  }
  Names names() const {
    Names all;
    for (const auto& file : fs::directory_iterator(folder())) all.insert(file.path().filename());
    return all;
  }
  Names sources() const {
    Names all;
    for (const auto& entry : cache_entries(folder())) all.insert(entry.source);
    return all;
  }
  Dataset open(const std::string& source, std::optional<std::uint64_t> limit = {}) const {
    return open_dataset(name(source), {}, nullptr, {folder(), limit});
  }
};

TEST_F(CacheFolderTest, EntriesAreListedMostRecentlyUsedFirst) {
  make_entry("a.txt", 1, 10, 100);
  make_entry("b-c.txt", 2, 20, 300);
  make_entry("d.txt", 3, 30, 200);
  make("cache/product-1.txt", "kept");
  make("cache/a-12.evdata", "not an entry");
  fs::create_directory(folder() + "/folder-0123456789abcdef.evdata");
  const auto entries = cache_entries(folder());
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].source, "b-c.txt");
  EXPECT_EQ(entries[0].bytes, 20U);
  EXPECT_EQ(entries[0].last_use.tv_sec, 300);
  EXPECT_EQ(entries[1].source, "d.txt");
  EXPECT_EQ(entries[2].source, "a.txt");
  EXPECT_TRUE(cache_entries(name("missing")).empty());
}

// Also if the next run finds its entry and writes nothing.
TEST_F(CacheFolderTest, FilesOfKilledWritersAreRemovedByTheNextRun) {
  make("train.txt", "1 2 2\n0 1:1\n");
  const std::string own = make_temporary(getpid());
  const std::string running = make_temporary(getppid());
  for (int run = 0; run < 2; ++run) {
    const std::string left = make_temporary(ended_process());
    open("train.txt");
    EXPECT_FALSE(fs::exists(left)) << run;
    EXPECT_TRUE(fs::exists(own));
    EXPECT_TRUE(fs::exists(running));
    EXPECT_EQ(sources(), Names{"train.txt"});
  }
}

// The process number says nothing about a writer on another machine; its lock does.
TEST_F(CacheFolderTest, AFileThatIsLockedIsNotALeftover) {
  const std::string path = make_temporary(ended_process());
  const int writer = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(flock(writer, LOCK_EX), 0);
  EXPECT_EQ(remove_cache_leftovers(folder()).leftovers, 0U);
  EXPECT_TRUE(fs::exists(path));
  close(writer);
  const CacheRemoval removed = remove_cache_leftovers(folder());
  EXPECT_EQ(removed.leftovers, 1U);
  EXPECT_EQ(removed.bytes, 4U);
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(CacheFolderTest, OnlyRegularFilesWithTheNameOfATemporaryFileAreLeftovers) {
  const std::string pid = std::to_string(ended_process());
  const std::string entry = "a-0123456789abcdef.evdata";
  for (const auto& other : {"a.evdata.tmp" + pid + ".0", entry + ".tmp" + pid, entry + ".tmp.0",
                            entry + ".tmp" + pid + ".x", entry + ".tmp-1.0", entry + ".tmp0.0",
                            entry + ".tmp" + pid + ".0.bak", "notes.tmp" + pid + ".0"}) {
    make("cache/" + other, "");
  }
  make("target", "");
  fs::create_symlink(name("target"), folder() + "/" + entry + ".tmp" + pid + ".1");
  const Names before = names();
  EXPECT_EQ(remove_cache_leftovers(folder()).leftovers, 0U);
  EXPECT_EQ(names(), before);
}

TEST_F(CacheFolderTest, LeastRecentlyUsedEntriesAreRemovedUntilTheRestFits) {
  const std::string oldest = make_entry("oldest", 1, 10, 100);
  make_entry("newer", 2, 10, 300);
  make_entry("older", 3, 10, 200);
  make("cache/other", std::string(100, 'x'));
  EXPECT_EQ(bound_cache(folder(), 30, oldest).entries, 0U);
  const CacheRemoval removed = bound_cache(folder(), 25, oldest);
  EXPECT_EQ(removed.entries, 1U);
  EXPECT_EQ(removed.bytes, 10U);
  EXPECT_EQ(sources(), (Names{"oldest", "newer"}));
  bound_cache(folder(), 0, oldest);
  EXPECT_EQ(sources(), Names{"oldest"});
  EXPECT_TRUE(fs::exists(folder() + "/other"));
}

TEST_F(CacheFolderTest, WritingAnEntryKeepsTheLimitAndTheNewEntry) {
  make_entry("unused", 1, 1000, 100);
  make("train.txt", "1 2 2\n0 1:1\n");
  EXPECT_EQ(open("train.txt", 1).rows(), 1U);
  EXPECT_EQ(sources(), Names{"train.txt"});
}

TEST_F(CacheFolderTest, AHitIsAUse) {
  make("train.txt", "1 2 2\n0 1:1\n");
  open("train.txt");
  const std::string entry = cache_entries(folder()).at(0).path;
  const timespec times[2] = {{100, 0}, {100, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, entry.c_str(), times, 0), 0);
  open("train.txt");
  EXPECT_GT(cache_entries(folder()).at(0).last_use.tv_sec, 100);
}

TEST_F(CacheFolderTest, TheDefaultLimitIsAtMost20GbAndATenthOfTheDisk) {
  const std::uint64_t limit = cache_limit({folder()});
  EXPECT_GT(limit, 0U);
  EXPECT_LE(limit, 20'000'000'000U);
  EXPECT_LE(limit, fs::space(folder()).capacity / 10);
  EXPECT_EQ(cache_limit({folder(), 5}), 5U);
}

TEST_F(CacheFolderTest, CleanRemovesEntriesAndLeftoversAndNothingElse) {
  make_entry("a", 1, 10, 100);
  make_entry("b", 2, 20, 100);
  make_temporary(ended_process());
  const std::string own = make_temporary(getpid(), "own");
  make("cache/product-1.txt", "kept");
  const CacheRemoval removed = clean_cache(folder());
  EXPECT_EQ(removed.entries, 2U);
  EXPECT_EQ(removed.leftovers, 1U);
  EXPECT_EQ(removed.bytes, 34U);
  EXPECT_EQ(names(), (Names{"product-1.txt", fs::path(own).filename().string()}));
  EXPECT_EQ(clean_cache(name("missing")).entries, 0U);
}

}  // namespace
}  // namespace evener
