// Built kernels are cached, and build errors are reported.
#include "evener/device/opencl/program.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "evener/device/opencl/list.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    if (opencl::list().empty()) GTEST_SKIP() << "no OpenCL device here";
    context_ = opencl::open({0, 0, -1}, {});
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string error_of(const std::string& source) {
    try {
      opencl::build_program(*context_, source, "-cl-std=CL1.2", folder_);
    } catch (const DeviceError& error) {
      return error.what();
    }
    return "";
  }

  std::shared_ptr<opencl::Context> context_;
  fs::path folder_ = fs::path(testing::TempDir()) / ("evener-kernels-" + std::to_string(getpid()));
};

TEST_F(ProgramTest, BuildErrorsHaveTheCompilersLog) {
  const std::string error = error_of("kernel void broken(global float* x) { x[0] = nonsense; }");
  EXPECT_THAT(error, HasSubstr("opencl:0.0: the kernels do not build"));
  EXPECT_THAT(error, HasSubstr("nonsense"));
  EXPECT_FALSE(fs::exists(folder_)) << "nothing is kept of it";
}

TEST_F(ProgramTest, BinariesAreCachedAndADamagedFileIsRebuilt) {
  const std::string source = "kernel void one(global float* x) { x[0] = 1.0f; }";
  EXPECT_EQ(error_of(source), "");
  ASSERT_TRUE(fs::exists(folder_));
  const auto file = fs::directory_iterator(folder_)->path();
  const auto size = fs::file_size(file);
  EXPECT_EQ(error_of(source), "");
  fs::resize_file(file, size / 2);
  EXPECT_EQ(error_of(source), "");
  EXPECT_EQ(fs::file_size(file), size) << "and kept again";
}

TEST_F(ProgramTest, ACacheThatCannotBeWrittenIsNoError) {
  folder_ = "/proc/no-such-folder";
  EXPECT_EQ(error_of("kernel void two(global float* x) { x[0] = 2.0f; }"), "");
}

#ifdef EVENER_EXPECT_OPENCL
// Otherwise the suite would pass without any OpenCL device.
TEST(OpenClRuntime, IsThereWhereItWasInstalled) {
  EXPECT_FALSE(opencl::list().empty());
}
#endif

}  // namespace
}  // namespace evener
