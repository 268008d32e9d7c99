// The choice of the implementation of a product: measured once, cached on disk.
#include "evener/device/opencl/products.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/device/case.h"
#include "tests/device/devices_here.h"
#include "tests/device/random_data.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "evener/device/opencl/clblast.h"

namespace evener::opencl {
namespace {

namespace fs = std::filesystem;

class ProductsTest : public testing::Test {
 protected:
  void TearDown() override { fs::remove_all(directory_); }

  std::unique_ptr<Products> open(const std::string& identity = "card, driver 1") {
    return std::make_unique<Products>("opencl:0.0", identity, ProductsBy::fastest, directory_);
  }
  bool ask(Products& products, const ProductShape& shape = {"forward", 100, 64, 30}) {
    return products.by_library(
        shape, [&] { return work(own_ms_); }, [&] { return library_works_ && work(library_ms_); },
        [] {});
  }
  bool work(int milliseconds) {
    ++calls_;
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    return true;
  }
  std::size_t files() const {
    if (!fs::exists(directory_)) return 0;
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }

  std::string directory_ = testing::TempDir() + "products-" +
                           testing::UnitTest::GetInstance()->current_test_info()->name() +
                           std::to_string(getpid());
  int own_ms_ = 1, library_ms_ = 8;
  bool library_works_ = true;
  int calls_ = 0;
};

TEST_F(ProductsTest, TheFasterOneIsUsed) {
  EXPECT_FALSE(ask(*open()));
  std::swap(own_ms_, library_ms_);
  EXPECT_TRUE(ask(*open("another card")));
}

TEST_F(ProductsTest, AChoiceIsMeasuredOnceAndCached) {
  const auto first = open();
  ask(*first);
  const int measured = calls_;
  EXPECT_GT(measured, 2);
  ask(*first, {"forward", 128, 40, 32});  // about the same size
  std::swap(own_ms_, library_ms_);
  EXPECT_FALSE(ask(*open())) << "as was measured the first time";
  EXPECT_EQ(calls_, measured);
  EXPECT_EQ(files(), 1U);
}

TEST_F(ProductsTest, AnotherDriverShapeOrProductIsMeasuredAgain) {
  const auto products = open();
  ask(*products);
  ask(*products, {"backward", 100, 64, 30});
  ask(*products, {"forward", 300, 64, 30});
  ask(*open("card, driver 2"));
  EXPECT_EQ(files(), 4U);
}

TEST_F(ProductsTest, ADamagedChoiceIsMeasuredAgain) {
  ask(*open());
  for (const auto& file : fs::directory_iterator(directory_)) std::ofstream(file.path()) << "perh";
  calls_ = 0;
  EXPECT_FALSE(ask(*open()));
  EXPECT_GT(calls_, 0);
}

TEST_F(ProductsTest, ALibraryThatFailsIsNotTriedAgain) {
  std::swap(own_ms_, library_ms_);
  library_works_ = false;
  EXPECT_FALSE(ask(*open()));
  library_works_ = true;
  EXPECT_FALSE(ask(*open()));
}

TEST_F(ProductsTest, ALibraryThatFailsLaterIsNotUsedAgain) {
  std::swap(own_ms_, library_ms_);
  const auto products = open();
  EXPECT_TRUE(ask(*products));
  products->give_up({"forward", 100, 64, 30});
  EXPECT_FALSE(ask(*products));
}

TEST_F(ProductsTest, OneLineListsTheChoices) {
  const auto products = open();
  ask(*products);
  ask(*products, {"backward", 100, 64, 30});
  const auto notes = products->take_notes();
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_THAT(notes[0],
              testing::StartsWith("opencl:0.0: products forward 128x64x32 by own kernel"));
  EXPECT_THAT(notes[0], testing::HasSubstr("backward 128x64x32 by own kernel"));
  EXPECT_TRUE(products->take_notes().empty());
}

TEST_F(ProductsTest, ACardMeasuresAtItsFirstStep) {
  const auto here = accelerators_here();
  const auto as_library = std::find_if(
      here.begin(), here.end(), [](const auto& name) { return name.starts_with("clblast/"); });
  if (as_library == here.end()) GTEST_SKIP() << "no CLBlast, or no OpenCL to take for a card";
  Random random(1);
  Case c;
  c.network = {.features = 30, .hidden = {20}, .labels = 100};
  c.data = random_data(random, 40, 30, 100);
  const auto rows = all_rows_of(c);
  std::vector<std::string> lines;
  for (int start = 0; start < 2; ++start) {
    const auto device =
        make_device(as_library->substr(as_library->find('/') + 1),
                    {.memory_limit = 0, .cache_directory = directory_, .as_card = true, .say = {}});
    const auto replica = device->make_replica(c.network, c.training);
    replica->load(0, start_of(c));
    replica->step({&c.data, rows}, {1, 0.05F});
    for (const auto& note : device->take_notes()) lines.push_back(note);
  }
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[0],
              testing::AllOf(testing::HasSubstr("forward"), testing::HasSubstr("backward"),
                             testing::HasSubstr("CLBlast")));
  EXPECT_EQ(lines[1], lines[0]) << "the second start knows the first one's figures";
}

}  // namespace
}  // namespace evener::opencl
