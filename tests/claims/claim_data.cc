#include <cstdlib>

#include "tests/claims/claims.h"
#include "tests/data_folder.h"
#include "tests/places.h"

namespace evener {

namespace {

constexpr double kTestRows = 2440;

/// Apart from its rows, about as large and as hard as bibtex. The same on every machine.
ClaimData make_claim_data(int rows) {
  const std::string folder = fmt::format("{}evener-claims-{}", testing::TempDir(), rows);
  if (!std::filesystem::exists(folder + "/train.txt")) {
    // Another test may create it at the same time: the first one to finish wins.
    const std::string making = own_folder("made");
    const std::string command = fmt::format(
        "'{}' dataset synthetic --rows {} --test-share {} --features 1836 --features-per-row 68"
        " --labels 159 --labels-per-row 2.4 --noise 0.6 -o '{}' >/dev/null",
        EVENER_COMMAND, rows, kTestRows / rows, making);
    if (std::system(command.c_str()) != 0) throw Error("the data set could not be made");
    std::error_code made_meanwhile;
    std::filesystem::rename(making, folder, made_meanwhile);
    if (made_meanwhile) std::filesystem::remove_all(making);
  }
  return {folder + "/train.txt", folder + "/test.txt"};
}

bool is_here(const ClaimSet& set) {
  return set.made() || std::filesystem::exists(data_folder() + set.train);
}

}  // namespace

std::vector<ClaimSet> claim_sets(const ClaimSet& published) {
  std::vector<ClaimSet> sets{{"Made", published.rows}};
  if (is_here(published)) sets.push_back(published);
  return sets;
}

ClaimData claim_data(const ClaimSet& set) {
  if (set.made()) return make_claim_data(set.rows);
  if (!is_here(set)) throw Error(data_folder() + set.train + " was here when the test was built");
  return {data_folder() + set.train, data_folder() + set.test};
}

}  // namespace evener
