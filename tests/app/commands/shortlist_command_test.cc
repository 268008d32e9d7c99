// The commands with the shortlist head.
#include "tests/app/command.h"

namespace evener {
namespace {

class ShortlistCommand : public CommandTest {
 protected:
  std::vector<std::string> shortlist(const std::string& name,
                                     const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{"train", folder_ / "train.txt", "--test", folder_ / "test.txt",
                                 "-o",    folder_ / name,        "--head", "shortlist"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

TEST_F(ShortlistCommand, TrainsTestsPredictsAndDescribes) {
  const Outcome trained = run(shortlist("run", {"--json"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.err, AllOf(HasSubstr("training the shortlist head on cpu:1"),
                                 HasSubstr("preparation: "), HasSubstr("epoch 5/5")));
  const Outcome tested =
      run({"test", folder_ / "run/last.safetensors", folder_ / "test.txt", "--json"});
  ASSERT_EQ(tested.code, 0) << tested.err;
  EXPECT_EQ(json::parse(tested.out), json::parse(trained.out).at("metrics"));
  const Outcome predicted = run({"predict", folder_ / "run", folder_ / "test.txt", "-k", "2"});
  ASSERT_EQ(predicted.code, 0) << predicted.err;
  EXPECT_EQ(std::count(predicted.out.begin(), predicted.out.end(), '\n'), 40);
  const Outcome info = run({"info", folder_ / "run/best.safetensors", "--json"});
  ASSERT_EQ(info.code, 0) << info.err;
  EXPECT_EQ(json::parse(info.out).at("head"), "shortlist");
  EXPECT_EQ(json::parse(info.out).at("indexed_rows"), 100);
}

TEST_F(ShortlistCommand, RefusesOptionsOfTheOtherHead) {
  expect_error(shortlist("a", {"--loss", "softmax"}), 2, "--loss needs --head full");
  expect_error(shortlist("b", {"--strategy", "hogwild"}), 2, "--strategy needs --head full");
  expect_error({"train", folder_ / "train.txt", "--head", "full", "--ablate", "linear"}, 2,
               "--ablate needs --head shortlist");
  expect_error(shortlist("c", {"--ablate", "wheels"}), 2, "--ablate");
  expect_error({"simulate", "x.toml", folder_ / "train.txt", "--head", "full"}, 2, "--head");
}

TEST_F(ShortlistCommand, AutoSaysWhatItChoseAndWhy) {
  const Outcome few = run({"train", folder_ / "train.txt", "-o", folder_ / "few", "--epochs", "1"});
  ASSERT_EQ(few.code, 0) << few.err;
  EXPECT_THAT(few.err, HasSubstr("--head auto: full, because there are only 6 labels"));
  // An option of one head chooses it.
  const Outcome given = run({"train", folder_ / "train.txt", "-o", folder_ / "given", "--epochs",
                             "1", "--ablate", "linear"});
  ASSERT_EQ(given.code, 0) << given.err;
  EXPECT_THAT(given.err, HasSubstr("training the shortlist head"));
}

}  // namespace
}  // namespace evener
