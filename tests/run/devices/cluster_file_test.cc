#include "evener/run/devices/cluster_file.h"

#include "tests/places.h"
#include "tests/run/support.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace evener {
namespace {

using testing::HasSubstr;

class ClusterFile : public testing::Test {
 protected:
  VirtualTimeOptions read(const std::string& text) {
    put_contents(folder_ / "c.toml", text);
    return read_cluster(folder_ / "c.toml");
  }
  /// The error message without the folder; empty: no error.
  std::string refusal(const std::string& text) {
    try {
      read(text);
    } catch (const UsageError& problem) {
      const std::string message = problem.what();
      EXPECT_THAT(message, testing::StartsWith(folder_.path() + "/"));
      return message.substr(folder_.path().size() + 1);
    }
    return "";
  }
  std::vector<std::string> names(const std::string& text) {
    std::vector<std::string> names;
    for (const auto& device : read(text).devices) names.push_back(device.name);
    return names;
  }

  Folder folder_;
};

void expect_same(const DeviceModel& a, const DeviceModel& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.in_place, b.in_place);
  EXPECT_EQ(a.threads, b.threads);
  EXPECT_EQ(a.memory_rows, b.memory_rows);
  EXPECT_DOUBLE_EQ(a.fixed, b.fixed);
  EXPECT_DOUBLE_EQ(a.per_row, b.per_row);
  EXPECT_DOUBLE_EQ(a.per_nonzero, b.per_nonzero);
  EXPECT_DOUBLE_EQ(a.jitter, b.jitter);
  EXPECT_DOUBLE_EQ(a.drift, b.drift);
  EXPECT_DOUBLE_EQ(a.burst_every, b.burst_every);
  EXPECT_DOUBLE_EQ(a.burst_seconds, b.burst_seconds);
  EXPECT_DOUBLE_EQ(a.burst_factor, b.burst_factor);
  EXPECT_DOUBLE_EQ(a.latency, b.latency);
  EXPECT_DOUBLE_EQ(a.bandwidth, b.bandwidth);
  EXPECT_DOUBLE_EQ(a.joins_at, b.joins_at);
  EXPECT_DOUBLE_EQ(a.fails_at, b.fails_at);
}

/// No value is the default.
DeviceModel unusual_device() {
  DeviceModel model;
  model.name = "tést \"card\" \\ 1";
  model.in_place = true;
  model.threads = 12;
  model.memory_rows = 12'345'678;
  model.fixed = 0.25e-3;
  model.per_row = 12.5e-6;
  model.per_nonzero = 0.125e-9;
  model.jitter = 0.0625;
  model.drift = 0.5;
  model.burst_every = 40;
  model.burst_seconds = 2.5;
  model.burst_factor = 3;
  model.latency = 25e-6;
  model.bandwidth = 1.5e9;
  model.joins_at = 50;
  model.fails_at = 100;
  return model;
}

TEST(ClusterExample, HasEveryKeyInTheUnitsItSays) {
  const VirtualTimeOptions options = read_cluster(EVENER_SOURCE_DIR "/docs/examples/cluster.toml");
  EXPECT_EQ(options.merge_bandwidth, 10e9);
  ASSERT_EQ(options.devices.size(), 3U);
  DeviceModel fast;
  fast.name = "fast card";
  fast.fixed = 0.5e-3;
  fast.per_row = 20e-6;
  fast.per_nonzero = 10e-9;
  fast.latency = 20e-6;
  fast.bandwidth = 12e9;
  fast.memory_rows = 8192;
  expect_same(options.devices[0], fast);
  DeviceModel older = fast;
  older.name = "older card";
  older.per_row = 60e-6;
  older.per_nonzero = 30e-9;
  older.bandwidth = 6e9;
  older.memory_rows = 0;
  older.jitter = 0.05;
  expect_same(options.devices[1], older);
  DeviceModel host;
  host.name = "host";
  host.in_place = true;
  host.threads = 8;
  host.fixed = 0.05e-3;
  host.per_row = 400e-6;
  host.burst_every = 30;
  host.burst_seconds = 2;
  host.burst_factor = 4;
  expect_same(options.devices[2], host);

  // The example has every key of a device.
  const std::string example = contents_of(EVENER_SOURCE_DIR "/docs/examples/cluster.toml");
  const std::string text = cluster_device_text(unusual_device());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    const std::string key = line.substr(0, line.find(" = "));
    EXPECT_THAT(example, HasSubstr("\n" + key)) << "the example lacks it";
    at = end + 1;
  }
}

TEST_F(ClusterFile, NeedsADeviceFromTheStart) {
  EXPECT_EQ(refusal("[[device]]\nname = \"a\"\njoins-at-s = 3\n"),
            "c.toml: no device is there from the start: each has joins-at-s");
}

TEST_F(ClusterFile, AnUnknownKeyGivesItsLineAndTheNearest) {
  EXPECT_EQ(refusal("[[device]]\nname = \"a\"\nper-rows-us = 3\n"),
            "c.toml:3: unknown key 'per-rows-us' (did you mean 'per-row-us'?)");
  EXPECT_THAT(refusal("\n[[devices]]\nname = \"a\"\n"),
              HasSubstr("c.toml:2: unknown key 'devices' (did you mean 'device'?)"));
  EXPECT_THAT(refusal("[device]\nname = \"a\"\n"), HasSubstr("devices are [[device]] tables"));
  EXPECT_THAT(refusal("merge-bandwith-gb-s = 1\n[[device]]\n"),
              HasSubstr("(did you mean 'merge-bandwidth-gb-s'?)"));
}

TEST_F(ClusterFile, ServersHaveANetwork) {
  const auto options = read("servers = 4\nserver-bandwidth-gb-s = 1.25\n[[device]]\n");
  EXPECT_EQ(options.servers, 4);
  EXPECT_DOUBLE_EQ(options.server_bandwidth, 1.25e9);
  EXPECT_THAT(refusal("servers = 0\n[[device]]\n"), HasSubstr("c.toml:1: servers"));
}

TEST_F(ClusterFile, UnderscoresAreDashes) {
  EXPECT_DOUBLE_EQ(read("[[device]]\nfixed_ms = 2\n").devices.at(0).fixed, 2e-3);
}

TEST_F(ClusterFile, WrongTypesAndRangesGiveTheLine) {
  EXPECT_EQ(refusal("[[device]]\nfixed-ms = \"2\"\n"),
            "c.toml:2: fixed-ms is not a number in 0 .. 1e+12");
  EXPECT_THAT(refusal("[[device]]\nfixed-ms = -1\n"), HasSubstr("c.toml:2: fixed-ms"));
  EXPECT_THAT(refusal("[[device]]\nfixed-ms = nan\n"), HasSubstr("c.toml:2: fixed-ms"));
  EXPECT_THAT(refusal("[[device]]\njitter = 1.5\n"), HasSubstr("is not a number in 0 .. 1"));
  EXPECT_THAT(refusal("[[device]]\nburst-factor = 0.5\n"), HasSubstr("c.toml:2: burst-factor"));
  EXPECT_THAT(refusal("[[device]]\nthreads = 0\n"),
              HasSubstr("is not a whole number in 1 .. 1024"));
  EXPECT_THAT(refusal("[[device]]\nthreads = 1.5\n"),
              HasSubstr("c.toml:2: threads is not a whole"));
  EXPECT_THAT(refusal("[[device]]\nmemory-rows = 0.5\n"), HasSubstr("memory-rows is not a whole"));
  EXPECT_THAT(refusal("[[device]]\ncount = 0\n"), HasSubstr("c.toml:2: count"));
  EXPECT_THAT(refusal("[[device]]\ncount = 2.5\n"), HasSubstr("count is not a whole number"));
  EXPECT_THAT(refusal("[[device]]\nname = 3\n"), HasSubstr("name is not a text in quotes"));
  EXPECT_THAT(refusal("merge-bandwidth-gb-s = 0\n[[device]]\n"), HasSubstr("c.toml:1: merge-"));
  EXPECT_THAT(refusal("[[device]]\nname = \"a\nb\"\n"), HasSubstr("c.toml:2: "));
}

TEST_F(ClusterFile, AKindIsOneOfTwo) {
  EXPECT_TRUE(read("[[device]]\nkind = \"cpu\"\n").devices.at(0).in_place);
  EXPECT_FALSE(read("[[device]]\nkind = \"accelerator\"\n").devices.at(0).in_place);
  EXPECT_EQ(refusal("[[device]]\nname = \"a\"\nkind = \"acelerator\"\n"),
            "c.toml:3: kind 'acelerator' is neither cpu nor accelerator");
}

TEST_F(ClusterFile, NeedsADevice) {
  EXPECT_EQ(refusal(""), "c.toml: has no [[device]]");
  EXPECT_EQ(refusal("merge-bandwidth-gb-s = 5\n"), "c.toml: has no [[device]]");
  EXPECT_THAT(error_of([&] { read_cluster(folder_ / "none.toml"); }),
              HasSubstr("none.toml: there is no such cluster file"));
}

TEST_F(ClusterFile, CountMakesSeveralWithNamesOfTheirOwn) {
  EXPECT_THAT(names("[[device]]\nname = \"card\"\ncount = 3\n[[device]]\n"),
              testing::ElementsAre("card #1", "card #2", "card #3", "device 3"));
  EXPECT_THAT(names("[[device]]\nname = \"card\"\ncount = 1\n"), testing::ElementsAre("card"));
}

TEST_F(ClusterFile, ADeviceThatIsWrittenReadsBack) {
  for (const DeviceModel& model :
       {unusual_device(), DeviceModel{.name = "plain"}, DeviceModel{.name = "a\nb \"\\\t\x7F"}}) {
    // In addition to a device that is present from the start.
    const std::string text = cluster_device_text(model) + cluster_device_text({.name = "other"});
    const VirtualTimeOptions options = read(text);
    ASSERT_EQ(options.devices.size(), 2U) << text;
    expect_same(options.devices[0], model);
  }
}

}  // namespace
}  // namespace evener
