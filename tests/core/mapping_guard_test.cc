// Files that another process shortens while they are mapped.
#include "evener/core/mapping_guard.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "evener/core/error.h"
#include "evener/core/file.h"

namespace evener {
namespace {

using testing::HasSubstr;

class MappingGuardTest : public testing::Test {
 protected:
  MappingGuardTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "evener_guard_test.XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~MappingGuardTest() override { std::filesystem::remove_all(folder_); }

  static std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
  std::string make(const std::string& name, std::size_t pages) const {
    std::ofstream(folder_ / name) << std::string(pages * page(), 'x');
    return folder_ / name;
  }
  static char byte(const MappedFile& file, std::size_t at) {
    return static_cast<const volatile char&>(
        reinterpret_cast<const char&>(file.bytes().subspan(at).front()));
  }
  template <class Action>
  static std::string message(Action action) {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  std::filesystem::path folder_;
};

TEST_F(MappingGuardTest, ATruncatedFileReadsAsZerosAndIsNamed) {
  const std::string path = make("a", 4);
  const MappedFile other(make("b", 4));
  MappedFile file(path);
  EXPECT_EQ(byte(file, 2 * page()), 'x');
  std::filesystem::resize_file(path, 2 * page());
  EXPECT_EQ(message([&] { file.check(); }), "") << "nothing of what is missing was read";
  EXPECT_EQ(byte(file, 0), 'x');
  EXPECT_EQ(byte(file, 3 * page()), 0);
  EXPECT_EQ(byte(file, 2 * page()), 0);
  EXPECT_EQ(byte(file, page()), 'x');
  const std::string expected = path + ": was truncated while it was read";
  EXPECT_EQ(message([&] { file.check(); }), expected);
  EXPECT_EQ(message([&] { check_mapping(file.bytes().data() + 5); }), expected);
  EXPECT_FALSE(is_mapping_intact(file.bytes().data()));
  const MappedFile moved = std::move(file);
  EXPECT_EQ(message([&] { moved.check(); }), expected);

  EXPECT_EQ(byte(other, 3 * page()), 'x');
  EXPECT_EQ(message([&] { other.check(); }), "");
  EXPECT_TRUE(is_mapping_intact(other.bytes().data()));
  int elsewhere = 0;
  EXPECT_TRUE(is_mapping_intact(&elsewhere));
}

TEST_F(MappingGuardTest, AFileMappedAfterwardsIsIntact) {
  const std::string path = make("a", 2);
  {
    const MappedFile file(path);
    std::filesystem::resize_file(path, 0);
    EXPECT_EQ(byte(file, 0), 0);
  }
  for (int i = 0; i < 3000; ++i) {  // more than the table has places
    const MappedFile file(make("b", 1));
    ASSERT_EQ(message([&] { file.check(); }), "");
  }
}

TEST_F(MappingGuardTest, SeveralThreadsMayReadTheMissingPart) {
  const std::string path = make("a", 64);
  const MappedFile file(path);
  std::filesystem::resize_file(path, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 64; i-- > 0;) EXPECT_EQ(byte(file, i * page() + t), 0);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(message([&] { file.check(); }), HasSubstr("truncated"));
}

// Only mapped files of Evener are replaced by zeros.
TEST_F(MappingGuardTest, OtherBusErrorsStillEndTheProcess) {
  const std::string path = make("a", 2);
  const MappedFile guarded(path);  // the handler is installed
  const auto fault = [&] {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    void* memory = mmap(nullptr, page(), PROT_READ, MAP_PRIVATE, descriptor, 0);
    std::filesystem::resize_file(path, 0);
    std::exit(*static_cast<volatile char*>(memory));  // 0 if it reads a zero
  };
  EXPECT_DEATH(fault(), "");
  EXPECT_DEATH((raise(SIGBUS), std::exit(0)), "");
}

}  // namespace
}  // namespace evener
