#include "evener/run/devices/devices.h"

#include "tests/device/has_device.h"
#include "tests/run/support.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace evener {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

RunDevices open_list(const std::string& list, const std::string& emulate = "") {
  TrainOptions options;
  options.devices = list;
  options.emulate = emulate;
  return open_devices(options, {});
}

std::vector<std::string> opened(const std::string& list) {
  std::vector<std::string> names;
  for (const auto& device : open_list(list).devices) {
    names.push_back(device->name());
  }
  return names;
}

std::string refusal(const std::string& list) {
  return error_of([&] { open_list(list); });
}

const std::vector<std::string> kPair{"cpu:1", "cpu:2"};

std::string emulation_refusal(const std::string& text) {
  try {
    parse_emulation(text, kPair);
  } catch (const UsageError& problem) {
    return problem.what();
  }
  return "";
}

TEST(OpenDevices, OneWorkerForEachName) {
  EXPECT_THAT(opened("cpu:1"), ElementsAre("cpu:1"));
  EXPECT_THAT(opened(" cpu:1 , cpu:2 "), ElementsAre("cpu:1", "cpu:2"));
  EXPECT_THAT(opened("cpu:1,cpu:1"), ElementsAre("cpu:1", "cpu:1"))
      << "each has threads of its own";
  const RunDevices devices = open_list("cpu:1,cpu:1");
  EXPECT_EQ(devices.count(), 2U);
  EXPECT_THAT(devices.speeds, IsEmpty());
  EXPECT_FALSE(devices.virtual_time);
}

TEST(OpenDevices, RefusesAnEmptyListAndEmptyNames) {
  EXPECT_EQ(refusal(""), "--devices '': names no device");
  EXPECT_EQ(refusal("  "), "--devices '  ': names no device");
  EXPECT_EQ(refusal(","), "--devices ',': names no device");
  EXPECT_EQ(refusal("cpu:1,"), "--devices 'cpu:1,': names no device after a comma");
  EXPECT_EQ(refusal("cpu:1,,cpu:1"), "--devices 'cpu:1,,cpu:1': names no device after a comma");
}

TEST(OpenDevices, RefusesAllCoresTwiceAndUnknownNames) {
  EXPECT_THAT(refusal("cpu,cpu"),
              testing::AllOf(HasSubstr("cpu is named twice"), HasSubstr("cpu:1,cpu:1")));
  EXPECT_THAT(refusal("cpu:1,abacus"), HasSubstr("abacus"));
  EXPECT_THAT(refusal("cpu:0"), HasSubstr("cpu:0"));
}

TEST(OpenDevices, AutoStandsAlone) {
  EXPECT_THAT(refusal("cpu:1,auto"), HasSubstr("--devices 'cpu:1,auto': auto stands alone"));
  EXPECT_THAT(refusal("auto,cpu:1"), HasSubstr("auto stands alone"));
}

TEST(OpenDevices, AnAcceleratorUnderTwoNamesIsRefused) {
  if (!has_device("opencl")) GTEST_SKIP() << "no OpenCL device here";
  EXPECT_THAT(refusal("opencl:0.0,opencl:0.0"), HasSubstr("named twice"));
  EXPECT_THAT(refusal("opencl:0.0,opencl:0.00"),
              HasSubstr("opencl:0.0 and opencl:0.0 are the same device"));
  if (listed_devices("opencl").front().parts.size() < 2) return;
  EXPECT_THAT(refusal("cpu:1,opencl:0.0,opencl:0.0.1"),
              HasSubstr("opencl:0.0 and opencl:0.0.1 are the same device"));
  EXPECT_THAT(opened("opencl:0.0.0,opencl:0.0.1"), ElementsAre("opencl:0.0.0", "opencl:0.0.1"));
}

TEST(OpenDevices, NotesWorkersThatShareCores) {
  EXPECT_THAT(open_list("cpu:1").notes, IsEmpty());
  EXPECT_THAT(open_list("cpu:999").notes, ElementsAre(HasSubstr("cpu:999 is 999 threads on ")));
  EXPECT_THAT(open_list("cpu:999,cpu:1").notes,
              ElementsAre(HasSubstr("cpu:999 + cpu:1 are 1000 threads on ")));
}

TEST(FindDevices, TheProcessorIsTakenOnce) {
  const FoundDevices found = find_devices("cpu");
  EXPECT_TRUE(found.list.starts_with("cpu"));
  for (const auto& device : listed_devices("opencl")) {
    const bool taken = found.list.find(device.name) != std::string::npos;
    EXPECT_FALSE(taken && device.same_cores_as_cpu);
  }
}

TEST(OpenDevices, EmulatesTheDevicesItOpened) {
  EXPECT_THAT(open_list("cpu:1,cpu:1", "1=x0.5").speeds, ElementsAre(1, 0.5));
  EXPECT_THAT(error_of([] { open_list("cpu:1", "1=x0.5"); }),
              HasSubstr("no one device '1' here (0: cpu:1)"));
}

const std::vector<std::string> kCards{"opencl:1.0", "opencl:1.1"};

TEST(MemoryLimit, GoesByIndexOrNameOrForAll) {
  EXPECT_THAT(parse_memory_limits("", kCards), ElementsAre(0, 0));
  EXPECT_THAT(parse_memory_limits("512", kCards), ElementsAre(512'000'000, 512'000'000));
  EXPECT_THAT(parse_memory_limits("1=64", kCards), ElementsAre(0, 64'000'000));
  EXPECT_THAT(parse_memory_limits("512, opencl:1.0=8", kCards),
              ElementsAre(8'000'000, 512'000'000));
  for (const std::string text : {"0", "x", "12MB", "1=", "=5", "2=5", "-3", "1=0"}) {
    EXPECT_THAT(error_of([&] { parse_memory_limits(text, kCards); }), HasSubstr("--memory-limit"))
        << text;
  }
}

TEST(MemoryLimit, NoneReplacesAnotherSilently) {
  const auto refused = [](const std::string& text) {
    return error_of([&] { parse_memory_limits(text, kCards); });
  };
  EXPECT_THAT(refused("1=1,512"), HasSubstr("--memory-limit: 512 is for all devices"));
  EXPECT_THAT(refused("256,512"), HasSubstr("--memory-limit: 512 is for all devices"));
  EXPECT_THAT(refused("1=5,opencl:1.1=6"), HasSubstr("--memory-limit: opencl:1.1 is given twice"));
}

TEST(MemoryLimit, IsNotForProcessors) {
  const std::vector<std::string> mixed{"cpu:1", "opencl:1.0"};
  EXPECT_THAT(parse_memory_limits("512", mixed), ElementsAre(0, 512'000'000));
  EXPECT_THAT(error_of([&] { parse_memory_limits("0=512", mixed); }),
              HasSubstr("--memory-limit: cpu:1 works in the machine's memory"));
  TrainOptions options;
  options.devices = "cpu:1";
  options.memory_limit = "512";
  EXPECT_EQ(
      error_of([&] { open_devices(options, {}); }),
      "--memory-limit: cpu:1 works in the machine's memory; only accelerators can be limited");
  options.devices = "auto";
  DeviceContext context;
  context.automatic = [] { return FoundDevices{"cpu:1", {"opencl:0.0 (the same cores as cpu)"}}; };
  EXPECT_EQ(error_of([&] { open_devices(options, context); }),
            "--memory-limit: --devices auto finds only cpu:1 here, which works in the machine's "
            "memory; only accelerators can be limited (left out: opencl:0.0 (the same cores as "
            "cpu))");
  // The limit of a resumed run may have been for other devices.
  options.devices = "cpu:1";
  options.resume = "run";
  EXPECT_THAT(open_devices(options, {}).notes,
              ElementsAre(HasSubstr("--memory-limit limits nothing here")));
}

TEST(Emulation, GoesByIndexOrName) {
  EXPECT_THAT(parse_emulation("", kPair), IsEmpty());
  EXPECT_THAT(parse_emulation("  ", kPair), IsEmpty());
  EXPECT_THAT(parse_emulation("1=x0.25", kPair), ElementsAre(1, 0.25));
  EXPECT_THAT(parse_emulation("cpu:1=x0.5", kPair), ElementsAre(0.5, 1));
  EXPECT_THAT(parse_emulation(" 1 = x0.25 , cpu:1 = x1 ", kPair), ElementsAre(1, 0.25));
}

TEST(Emulation, RefusesADeviceThatIsNotThere) {
  EXPECT_THAT(emulation_refusal("2=x0.5"), HasSubstr("'2' here (0: cpu:1, 1: cpu:2)"));
  EXPECT_THAT(emulation_refusal("-1=x0.5"), HasSubstr("no one device '-1'"));
  EXPECT_THAT(emulation_refusal("cpu:4=x0.5"), HasSubstr("no one device 'cpu:4'"));
  EXPECT_THAT(emulation_refusal("=x0.5"), HasSubstr("no one device ''"));
}

TEST(Emulation, RefusesANameThatTwoDevicesHave) {
  EXPECT_THAT(error_of([] {
                parse_emulation("cpu:1=x0.5", {"cpu:1", "cpu:1"});
              }),
              HasSubstr("no one device 'cpu:1' here (0: cpu:1, 1: cpu:1)"));
}

TEST(Emulation, RefusesADeviceGivenTwice) {
  EXPECT_THAT(emulation_refusal("1=x0.5,1=x0.25"), HasSubstr("cpu:2 is given twice"));
  EXPECT_THAT(emulation_refusal("1=x0.5,cpu:2=x0.5"), HasSubstr("cpu:2 is given twice"));
}

TEST(Emulation, RefusesInvalidSpeeds) {
  for (const char* text : {"1=x0", "1=x2", "1=0.5", "1=x", "1=", "1", "1=x-0.5", "1=xnan", "1=xinf",
                           "1=x0.5s", "1=x0.5,", ",1=x0.5"}) {
    EXPECT_THAT(emulation_refusal(text), HasSubstr("is not DEVICE=xSPEED")) << text;
  }
}

TEST(KeepDevices, ReducesTheOptionsToTheKeptDevices) {
  TrainOptions options;
  options.devices = "auto";
  options.emulate = "1=x0.5,2=x0.25";
  options.memory_limit = "512,opencl:0.1=256";
  const std::vector<std::string> names{"cpu:1", "opencl:0.0", "opencl:0.1"};
  TrainOptions last = options;
  keep_devices(last, names, {2});
  EXPECT_EQ(last.devices, "opencl:0.1");
  EXPECT_EQ(parse_emulation(last.emulate, {"opencl:0.1"}), (std::vector<double>{0.25}));
  EXPECT_EQ(parse_memory_limits(last.memory_limit, {"opencl:0.1"}),
            (std::vector<std::size_t>{256'000'000}));
  TrainOptions first = options;
  keep_devices(first, names, {0});
  EXPECT_EQ(first.emulate, "");
  EXPECT_EQ(first.memory_limit, "");
  keep_devices(options, names, {0, 1});
  EXPECT_EQ(options.devices, "cpu:1,opencl:0.0");
  EXPECT_EQ(parse_emulation(options.emulate, {"cpu:1", "opencl:0.0"}),
            (std::vector<double>{1, 0.5}));
}

}  // namespace
}  // namespace evener
