// CUDA in the command: it does not need CUDA libraries, and says why there is no card.
#include <cstdio>

#include "tests/app/command.h"

#include "evener/device/registry.h"

namespace evener {
namespace {

class CudaCommand : public CommandTest {
 protected:
  /// The shared libraries that the command links.
  static std::string needed() {
    const std::string list = "readelf -d '" EVENER_COMMAND "' | grep NEEDED";
    FILE* pipe = popen(list.c_str(), "r");
    std::string text;
    char buffer[256];
    while (pipe != nullptr && std::fgets(buffer, sizeof buffer, pipe) != nullptr) text += buffer;
    if (pipe != nullptr) pclose(pipe);
    return text;
  }
};

TEST_F(CudaCommand, LinksNoCudaLibrary) {
  EXPECT_THAT(needed(), AllOf(HasSubstr("libstdc++"), Not(HasSubstr("libcu")),
                              Not(HasSubstr("libnccl")), Not(HasSubstr("evener_cuda"))));
}

TEST_F(CudaCommand, SaysWhyThereIsNoCard) {
  const DeviceList cards = find_device_kind("cuda")->list();
  if (!cards.devices.empty()) GTEST_SKIP() << "there is a card";
  EXPECT_THAT(cards.why_none, Not(IsEmpty()));
  EXPECT_THAT(run({"devices"}).out, HasSubstr("not usable: " + cards.why_none));
  expect_error(training("run", {"--devices", "cuda:0"}), 2,
               "device 'cuda:0': CUDA is not usable here: " + cards.why_none);
  expect_error(training("run", {"--devices", "cuda:x"}), 2, "CUDA devices are cuda:N");
}

}  // namespace
}  // namespace evener
