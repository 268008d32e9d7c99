// The rows of the registry: names, listings, and reasons for empty lists.
#include "evener/device/registry.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/core/error.h"

namespace evener {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(DeviceRegistry, EveryKindIsFoundByItsNameAlone) {
  std::set<std::string> names;
  for (const DeviceKind& kind : device_kinds()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_EQ(find_device_kind(kind.name), &kind);
    EXPECT_THAT(kind.names, StartsWith(kind.name));
    EXPECT_EQ(kind.title.empty(), false);
  }
  EXPECT_EQ(find_device_kind("abacus"), nullptr);
}

TEST(DeviceRegistry, WhatIsListedBelongsToItsKind) {
  for (const DeviceKind& kind : device_kinds()) {
    const DeviceList list = kind.list();
    EXPECT_EQ(list.devices.empty() && list.why_none.empty(), false) << kind.name;
    for (const ListedDevice& device : list.devices) {
      EXPECT_EQ(find_device_kind(device.name), &kind) << device.name;
      for (const auto& part : device.parts) {
        EXPECT_THAT(part, StartsWith(device.name + "."));
        EXPECT_EQ(find_device_kind(part), &kind) << part;
      }
      EXPECT_EQ(kind.cores(device.name) > 0, device.same_cores_as_cpu) << device.name;
    }
  }
}

TEST(DeviceRegistry, MalformedNamesAndMissingDevicesAreRefused) {
  for (const DeviceKind& kind : device_kinds()) {
    EXPECT_THROW(kind.make(kind.name + ":x", {}), UsageError) << kind.name;
  }
  for (const std::string name : {"opencl:99.0", "cuda:99"}) {
    try {
      make_device(name);
      ADD_FAILURE() << name;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), StartsWith("device '" + name + "': "));
      EXPECT_THAT(error.what(), Not(HasSubstr("unknown")));
    }
  }
}

TEST(DeviceRegistry, AnUnknownNameIsAnsweredWithAllValidOnes) {
  try {
    make_device("abacus");
    ADD_FAILURE();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), StartsWith("unknown device 'abacus'; valid: "));
    for (const DeviceKind& kind : device_kinds()) EXPECT_THAT(error.what(), HasSubstr(kind.names));
  }
}

}  // namespace
}  // namespace evener
