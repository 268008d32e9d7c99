#include <cstdlib>

#include "tests/claims/claims.h"

namespace evener {

ClaimData claim_data(const std::string& train, const std::string& test) {
  const std::string shared = EVENER_SOURCE_DIR "/../shared/data/";
  if (std::filesystem::exists(shared + train)) return {shared + train, shared + test};
  const std::string own = testing::TempDir() + "evener-claims-debian-tags";
  if (!std::filesystem::exists(own + "/train.txt")) {
    const std::string command = EVENER_COMMAND " dataset debian-tags -o '" + own + "' >/dev/null";
    if (std::system(command.c_str()) != 0) throw Error("debian-tags could not be made");
  }
  return {own + "/train.txt", own + "/test.txt"};
}

}  // namespace evener
