#include <cstdlib>

#include "tests/claims/claims.h"
#include "tests/data_folder.h"
#include "tests/places.h"

namespace evener {

bool has_claim_data(const std::string& train) {
  return std::filesystem::exists(data_folder() + train);
}

ClaimData claim_data(const std::string& train, const std::string& test) {
  if (has_claim_data(train)) return {data_folder() + train, data_folder() + test};
  const std::string own = testing::TempDir() + "evener-claims-debian-tags";
  if (!std::filesystem::exists(own + "/train.txt")) {
    // Another test may create it at the same time: the first one to finish wins.
    const std::string making = own_folder("debian-tags");
    const std::string command =
        EVENER_COMMAND " dataset debian-tags -o '" + making + "' >/dev/null";
    if (std::system(command.c_str()) != 0) throw Error("debian-tags could not be made");
    std::error_code made_meanwhile;
    std::filesystem::rename(making, own, made_meanwhile);
    if (made_meanwhile) std::filesystem::remove_all(making);
  }
  return {own + "/train.txt", own + "/test.txt"};
}

}  // namespace evener
