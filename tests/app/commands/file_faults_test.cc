// Files that disappear, shrink or hold nonsense while a command uses them.
#include <cmath>
#include <filesystem>
#include <limits>

#include "tests/app/command.h"

#include "evener/data/cache.h"
#include "evener/data/read.h"
#include "evener/run/artifacts/model.h"

namespace evener {
namespace {

namespace fs = std::filesystem;

class FileFaults : public CommandTest {
 protected:
  static void flip_byte(const std::string& path, std::size_t at) {
    std::string bytes = contents_of(path);
    bytes.at(at) = static_cast<char>(bytes.at(at) ^ 0x10);
    put_contents(path, bytes);
  }
};

TEST_F(FileFaults, AModelThatIsNotFiniteIsRefused) {
  ASSERT_EQ(run(training("run")).code, 0);
  const std::string path = folder_ / "bad.safetensors";
  for (const float value : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    Model model = load_model(folder_ / "run/last.safetensors");
    const Segment bias = layout_of(model.network).layers.back().bias;
    model.parameters[bias.offset + bias.cols - 1] = value;
    save_model(model, path);
    const std::string message = path + ": tensor '" + bias.name + "': holds NaN or infinity";
    expect_error({"test", path, folder_ / "test.txt"}, 1, message);
    expect_error({"predict", path, folder_ / "test.txt"}, 1, message);
    EXPECT_EQ(run({"info", path}).code, 0) << "its description is still of use";
  }
}

TEST_F(FileFaults, ARemovedRunDirectoryIsReportedAndNotMadeAgain) {
  Running running(training("run", {"--epochs", "5000", "--checkpoint-minutes", "1e-9"}),
                  environment_, folder_ / "stdout");
  ASSERT_TRUE(running.wait_for("epoch 2/5000"));
  running.stop();
  fs::remove_all(folder_ / "run");
  running.send(SIGCONT);
  EXPECT_EQ(running.finish(), 1);
  EXPECT_THAT(running.stderr_text(),
              HasSubstr("evener: error: " + (folder_ / "run") +
                        ": the run directory was removed while the run was writing to it\n"));
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

TEST_F(FileFaults, ADamagedCacheIsNamedAndTheSourceIsReadAgain) {
  ASSERT_EQ(run(training("run")).code, 0);
  for (const char* command : {"test", "predict"}) {
    SCOPED_TRACE(command);
    fs::remove_all(folder_ / "cache");
    const std::vector<std::string> words{command, folder_ / "run", folder_ / "test.txt"};
    const Outcome first = run(words);
    ASSERT_EQ(first.code, 0) << first.err;
    const std::string entry = fs::directory_iterator(folder_ / "cache")->path();
    flip_byte(entry, fs::file_size(entry) / 2);
    const Outcome again = run(words);
    EXPECT_EQ(again.code, 0);
    EXPECT_EQ(again.out, first.out);
    EXPECT_THAT(again.err, AllOf(StartsWith("evener: warning: " + entry + ": "),
                                 HasSubstr("; the source is read again\n")));
    EXPECT_THAT(run(words).err, IsEmpty()) << "it was made again";
  }
}

TEST_F(FileFaults, ADamagedFileOfConvertIsRefused) {
  ASSERT_EQ(run(training("run")).code, 0);
  const std::string path = folder_ / "test.evd";
  ASSERT_EQ(run({"convert", folder_ / "test.txt", path}).code, 0);
  flip_byte(path, fs::file_size(path) / 2);
  for (const char* command : {"test", "predict"}) {
    expect_error({command, folder_ / "run", path}, 1, path + ": ");
  }
  expect_error({"train", path, "-o", folder_ / "other"}, 1, path + ": ");
}

// The name of a label must not look like a message of the command.
TEST_F(FileFaults, ALabelNameCannotForgeALine) {
  put_contents(folder_ / "labels.txt", "zero\none\ntwo\nthree\nfour\nfive\n");
  ASSERT_EQ(run(training("run")).code, 0);
  Dataset data = read_dataset(folder_ / "test.txt", {});
  data.label_names.assign(data.label_count, "x\nevener: error: forged");
  write_cache(data, folder_ / "forged.evd");
  expect_error({"test", folder_ / "run", folder_ / "forged.evd"}, 1,
               "does not know the label 'x\\x0aevener: error: forged'");
}

// What was trained since the last checkpoint may have used zeros, and is not saved.
TEST_F(FileFaults, ACacheThatIsTruncatedEndsTheRun) {
  Running running(training("run", {"--epochs", "5000", "--checkpoint-every", "1"}), environment_,
                  folder_ / "stdout");
  ASSERT_TRUE(running.wait_for("epoch 3/5000"));
  running.stop();
  for (const auto& entry : fs::directory_iterator(folder_ / "cache")) {
    if (entry.is_regular_file()) fs::resize_file(entry.path(), 0);
  }
  running.send(SIGCONT);
  EXPECT_EQ(running.finish(), 1) << running.stderr_text();
  EXPECT_THAT(running.stderr_text(), testing::ContainsRegex("evener: error: .*/cache/[^ ]*: was "
                                                            "truncated while it was read"));
  EXPECT_THAT(running.stderr_text(),
              HasSubstr("; go on from the last checkpoint with --resume " + (folder_ / "run")));
  EXPECT_FALSE(fs::exists(folder_ / "run/last.safetensors"));
  EXPECT_EQ(run({"test", folder_ / "run", folder_ / "test.txt"}).code, 0) << "the best model";

  // The checkpoint before it loads, and the damaged cache is named and made again.
  Running again({"train", "--resume", folder_ / "run"}, environment_, folder_ / "stdout");
  ASSERT_TRUE(again.wait_for("/5000"));
  again.send(SIGINT);
  EXPECT_EQ(again.finish(), 130);
  EXPECT_THAT(again.stderr_text(),
              testing::ContainsRegex("warning: .*/cache/[^ ]*: .*; the source is read again"));
}

// Another directory of the same name is not the run's.
TEST_F(FileFaults, ARunDirectoryThatWasReplacedIsLeftAlone) {
  Running running(training("run", {"--epochs", "5000"}), environment_, folder_ / "stdout");
  ASSERT_TRUE(running.wait_for("epoch 2/5000"));
  running.stop();
  fs::rename(folder_ / "run", folder_ / "moved");
  fs::create_directory(folder_ / "run");
  running.send(SIGCONT);
  EXPECT_EQ(running.finish(), 1);
  EXPECT_THAT(running.stderr_text(), HasSubstr("run: the run directory was removed"));
  EXPECT_TRUE(fs::is_empty(folder_ / "run"));
}

}  // namespace
}  // namespace evener
