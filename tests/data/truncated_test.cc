// Data files that another process shortens while they are mapped.
#include <string>

#include "tests/data/helpers.h"

#include "evener/core/file.h"
#include "evener/data/cache.h"
#include "evener/data/parse.h"
#include "evener/data/transform.h"

namespace evener {
namespace {

using testing::HasSubstr;

constexpr const char* kTruncated = ": was truncated while it was read";

class Truncated : public FolderTest {
 protected:
  /// More than a window of the small size below, and several pages.
  static std::string text() {
    std::string lines = "3000 20 5\n";
    for (int row = 0; row < 3000; ++row) lines += std::to_string(row % 5) + " 3:1 7:0.5 19:2\n";
    return lines;
  }
  template <class Action>
  static std::string message(Action action) {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
};

// Parsers run to the next line end, which is in a page that is gone.
TEST_F(Truncated, TextIsParsedWithoutACrash) {
  const std::string path = make("data.txt", text());
  for (const std::size_t left : {std::size_t{0}, std::size_t{4096}, std::size_t{20000}}) {
    make("data.txt", text());
    const MappedFile file(path);
    const auto windows = windows_of(open_stream(file.bytes()), path, 1000, StreamSpeed::fast);
    const std::string first(windows->next());
    EXPECT_GT(first.size(), 500U);
    std::filesystem::resize_file(path, left);
    EXPECT_THAT(data_error([&] { parse_multilabel(*windows, path, {}); }), HasSubstr(path));
    EXPECT_EQ(message([&] { file.check(); }), path + kTruncated);
  }
}

TEST_F(Truncated, ACacheIsRefusedWhileItIsOpened) {
  const std::string path = name("data.evd");
  write_cache(read_dataset(make("data.txt", text()), {}), path);
  const auto file = std::make_shared<MappedFile>(path);
  std::filesystem::resize_file(path, 4096);
  EXPECT_EQ(message([&] { parse_cache(file->bytes(), path, file); }), path + kTruncated);
}

TEST_F(Truncated, RowsOfAnOpenCacheStayWithinBounds) {
  const std::string path = name("data.evd");
  write_cache(read_dataset(make("data.txt", text()), {}), path);
  const Dataset data = open_cache(path);
  EXPECT_TRUE(is_intact(data));
  std::filesystem::resize_file(path, 0);
  for (std::size_t row = 0; row < data.rows(); ++row) {
    ASSERT_EQ(data.features.row(row).indices.size(), 3U);
    ASSERT_EQ(data.labels.row(row).indices.size(), 1U);
    for (const std::uint32_t index : data.features.row(row).indices) ASSERT_EQ(index, 0U);
  }
  EXPECT_FALSE(is_intact(data));
  EXPECT_EQ(message([&] { check_intact(data); }), path + kTruncated);
}

TEST_F(Truncated, NothingIsMadeFromMissingRows) {
  const std::string path = name("data.evd");
  const Dataset whole = read_dataset(make("data.txt", text()), {});
  for (const int what : {0, 1, 2, 3}) {
    write_cache(whole, path);
    const Dataset data = open_cache(path);
    std::filesystem::resize_file(path, 0);
    const Transform unit{{0, false, true}, {}};
    EXPECT_EQ(message([&] {
                if (what == 0) write_multilabel(data, name("out"));
                if (what == 1) apply_transform(data, unit, 2);
                if (what == 2) fit_transform(data, {0, true, false});
                if (what == 3) write_cache(data, name("out"));
              }),
              path + kTruncated);
    EXPECT_FALSE(std::filesystem::exists(name("out")));
  }
}

}  // namespace
}  // namespace evener
