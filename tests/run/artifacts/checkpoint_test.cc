#include "evener/run/artifacts/checkpoint.h"

#include <cmath>
#include <limits>

#include "tests/run/artifacts/checkpoints.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace evener {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::optional<Checkpoint> load(const std::string& directory, std::vector<std::string>* warnings) {
  return load_checkpoint(directory,
                         [&](const std::string& warning) { warnings->push_back(warning); });
}

TEST(Checkpoint, RoundTripsEveryBitOfParametersAndState) {
  for (const std::size_t states : {0, 1, 2}) {
    const Folder folder;
    const Checkpoint saved = checkpoint_of(12, states);
    save_checkpoint(saved, folder / "checkpoints");
    const auto loaded = load_checkpoint(folder / "checkpoints", nullptr);
    ASSERT_TRUE(loaded);
    expect_equal(*loaded, saved);
  }
}

TEST(Checkpoint, RoundTripsProgressExactly) {
  const Folder folder;
  Checkpoint saved = checkpoint_of(123'456'789'012);
  const double infinity = std::numeric_limits<double>::infinity();
  saved.progress = {123'456'789'012, 3, ~std::uint64_t{0}, 0.1, -infinity, 2, 1, 1e-310, 0.3, 5,
                    {7, 0}};
  saved.options["path"] = "a \"quoted\"\nname";
  save_checkpoint(saved, folder.path());
  expect_equal(*load_checkpoint(folder.path(), nullptr), saved);
  saved.progress.best_metric = std::nan("");
  save_checkpoint(saved, folder.path());
  EXPECT_TRUE(std::isnan(load_checkpoint(folder.path(), nullptr)->progress.best_metric));
}

TEST(Checkpoint, IsADirectoryWithAModelLikeAnyOther) {
  const Folder folder;
  save_checkpoint(checkpoint_of(42), folder.path());
  EXPECT_THAT(names_in(folder.path()), ElementsAre("step-00000042"));
  EXPECT_THAT(names_in(folder / "step-00000042"),
              ElementsAre("model.safetensors", "state.safetensors"));
  expect_equal(load_model(folder / "step-00000042/model.safetensors"), small_model(42));
}

TEST(Checkpoint, KeepsTheNewest) {
  const Folder folder;
  for (const std::uint64_t step : {8, 9, 10, 100'000'000}) {
    save_checkpoint(checkpoint_of(step), folder.path(), 2);
  }
  EXPECT_THAT(names_in(folder.path()), ElementsAre("step-00000010", "step-100000000"));
  save_checkpoint(checkpoint_of(100'000'001), folder.path(), 1);
  EXPECT_THAT(names_in(folder.path()), ElementsAre("step-100000001"));
  save_checkpoint(checkpoint_of(100'000'002), folder.path(), 0);
  EXPECT_THAT(names_in(folder.path()), ElementsAre("step-100000002")) << "never without any";
}

TEST(Checkpoint, ReplacesTheSameStep) {
  const Folder folder;
  save_checkpoint(checkpoint_of(5), folder.path());
  Checkpoint again = checkpoint_of(5);
  again.options["again"] = "yes";
  save_checkpoint(again, folder.path());
  EXPECT_THAT(names_in(folder.path()), ElementsAre("step-00000005"));
  expect_equal(*load_checkpoint(folder.path(), nullptr), again);
}

TEST(Checkpoint, FindsTheOldOneWhenKilledWhileReplacingIt) {
  const Folder folder;
  save_checkpoint(checkpoint_of(4), folder.path());
  save_checkpoint(checkpoint_of(5), folder.path());
  std::filesystem::rename(folder / "step-00000005", folder / "step-00000005.old");
  EXPECT_EQ(intact_step(folder.path()), 5U);
  save_checkpoint(checkpoint_of(5), folder.path());
  EXPECT_EQ(intact_step(folder.path()), 5U);
  EXPECT_THAT(names_in(folder.path()), ElementsAre("step-00000004", "step-00000005"));
}

TEST(Checkpoint, ClearsWhatKilledWritersLeftAndNothingElse) {
  const Folder folder;
  save_checkpoint(checkpoint_of(1), folder.path());
  std::filesystem::create_directories(folder / ".tmp-step-00000009");
  put_contents(folder / ".tmp-step-00000009/model.safetensors.tmp1.0", "half");
  put_contents(folder / "notes.txt", "mine");
  put_contents(folder / "step-by-step", "mine too");
  EXPECT_EQ(intact_step(folder.path()), 1U);
  save_checkpoint(checkpoint_of(2), folder.path());
  EXPECT_THAT(names_in(folder.path()),
              ElementsAre("notes.txt", "step-00000001", "step-00000002", "step-by-step"));
}

TEST(Checkpoint, LoadsNothingWhereThereIsNone) {
  const Folder folder;
  EXPECT_FALSE(load_checkpoint(folder.path(), nullptr));
  EXPECT_FALSE(load_checkpoint(folder / "none", nullptr));
  put_contents(folder / "file", "");
  EXPECT_THAT(error_of([&] { load_checkpoint(folder / "file", nullptr); }),
              HasSubstr("cannot list: Not a directory"));
}

TEST(Checkpoint, PassesOverDamagedOnesNamingTheTensor) {
  const Folder folder;
  for (const std::uint64_t step : {1, 2, 3}) save_checkpoint(checkpoint_of(step), folder.path(), 3);
  const std::string model = folder / "step-00000003/model.safetensors";
  std::size_t at = std::filesystem::file_size(model);
  {
    const TensorFile file(model);
    std::size_t data = 0;
    for (const auto& [name, entry] : file.entries()) data = std::max(data, entry.end);
    at = at - data + file.entries().at("output.weight").begin + 5;
  }
  xor_byte(model, at, 0x10);
  std::filesystem::remove(folder / "step-00000002/state.safetensors");
  std::vector<std::string> warnings;
  const auto loaded = load(folder.path(), &warnings);
  ASSERT_TRUE(loaded);
  expect_equal(*loaded, checkpoint_of(1));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr(model + ": tensor 'output.weight': is damaged"),
                                    HasSubstr("step-00000002/state.safetensors: cannot open")));
}

TEST(Checkpoint, GoesOnAfterADamagedOne) {
  const Folder folder;
  save_checkpoint(checkpoint_of(90), folder.path(), 1);
  std::filesystem::create_directories(folder / "step-00000100");  // damaged: no files at all
  std::vector<std::string> warnings;
  EXPECT_EQ(load(folder.path(), &warnings)->progress.step, 90U);
  EXPECT_EQ(warnings.size(), 1U);
  save_checkpoint(checkpoint_of(95), folder.path(), 1);
  EXPECT_EQ(intact_step(folder.path()), 95U) << "the damaged one must not count as the newest";
  EXPECT_THAT(names_in(folder.path()), ElementsAre("step-00000095"));
}

TEST(Checkpoint, RefusesWhenAllAreDamaged) {
  const Folder folder;
  save_checkpoint(checkpoint_of(1), folder.path());
  save_checkpoint(checkpoint_of(2), folder.path());
  for (const char* step : {"step-00000001", "step-00000002"}) {
    std::filesystem::resize_file(folder / (step + std::string("/model.safetensors")), 100);
  }
  std::vector<std::string> warnings;
  EXPECT_THAT(error_of([&] { load(folder.path(), &warnings); }),
              HasSubstr("none of 2 checkpoints can be loaded; the last one: " + folder.path() +
                        "/step-00000001/model.safetensors: damaged header"));
  EXPECT_EQ(warnings.size(), 2U);
}

TEST(Checkpoint, RefusesFilesOfAnotherStep) {
  const Folder folder;
  save_checkpoint(checkpoint_of(1), folder.path());
  std::filesystem::rename(folder / "step-00000001", folder / "step-00000002");
  EXPECT_THAT(error_of([&] { load_checkpoint(folder.path(), nullptr); }),
              HasSubstr("is of step 1"));
}

TEST(Checkpoint, AStateThatHasNoNumberGivesItsFile) {
  const Folder folder;
  save_checkpoint(checkpoint_of(1), folder.path());
  const std::string path = folder / "step-00000001/state.safetensors";
  auto metadata = TensorFile(path).metadata();
  metadata.erase("xxh3");
  std::string& progress = metadata.at("evener.progress");
  const std::string key = "\"seconds\":\"";
  progress.insert(progress.find(key) + key.size(), "x");
  write_tensors(path, {}, metadata);
  EXPECT_THAT(error_of([&] { load_checkpoint(folder.path(), nullptr); }),
              HasSubstr(path + ": metadata: "));
}

/// Two checkpoints; tests damage the newer one.
class DamagedCheckpoint : public testing::TestWithParam<const char*> {
 protected:
  DamagedCheckpoint() {
    save_checkpoint(checkpoint_of(1), folder_.path());
    save_checkpoint(checkpoint_of(2), folder_.path());
    file_ = folder_ / ("step-00000002/" + std::string(GetParam()));
  }
  /// The older one is loaded, and the warning is about the damaged file.
  void expect_fallback(const std::string& damage) {
    std::vector<std::string> warnings;
    const auto loaded = load(folder_.path(), &warnings);
    ASSERT_TRUE(loaded) << damage;
    ASSERT_EQ(loaded->progress.step, 1U) << damage;
    ASSERT_THAT(warnings, ElementsAre(HasSubstr(file_))) << damage;
  }

  Folder folder_;
  std::string file_;
};

TEST_P(DamagedCheckpoint, AnyFlippedByteFallsBack) {
  const std::size_t size = std::filesystem::file_size(file_);
  Random random(17);
  for (std::size_t at = 0; at < size; at += at < 64 ? 1 : 1 + random.below(13)) {
    const int mask = static_cast<int>(1 + random.below(255));
    xor_byte(file_, at, mask);
    expect_fallback("byte " + std::to_string(at) + " ^ " + std::to_string(mask));
    xor_byte(file_, at, mask);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(intact_step(folder_.path()), 2U);
}

TEST_P(DamagedCheckpoint, AnyTruncationFallsBack) {
  Random random(18);
  for (std::size_t length = std::filesystem::file_size(file_); length > 0;) {
    length -= std::min<std::size_t>(length, 1 + random.below(40));
    std::filesystem::resize_file(file_, length);
    expect_fallback("length " + std::to_string(length));
    if (HasFatalFailure()) return;
  }
}

TEST_P(DamagedCheckpoint, ZeroedPagesFallBack) {
  // The state after a power failure without fsync.
  const std::size_t size = std::filesystem::file_size(file_);
  put_contents(file_, std::string(size, '\0'));
  expect_fallback("zeros");
}

INSTANTIATE_TEST_SUITE_P(Files, DamagedCheckpoint,
                         testing::Values("model.safetensors", "state.safetensors"),
                         [](const auto& which) { return std::string(which.param).substr(0, 5); });

std::size_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::size_t kilobytes = 0;
    if (word == key && status >> kilobytes) return kilobytes << 10;
  }
  return 0;
}

TEST(Checkpoint, LoadsInLessThanTwiceTheMemoryOfItsFiles) {
  const Folder folder;
  Checkpoint saved;
  saved.model.network = {40'000, {64}, 20'000, Activation::relu, Loss::softmax, Input::sparse};
  saved.model.raw_features = 40'000;
  const std::size_t size = layout_of(saved.model.network).size;
  saved.model.parameters = FloatBuffer(size);
  for (int i = 0; i < 2; ++i) saved.state.emplace_back(size);
  save_checkpoint(saved, folder.path());
  std::size_t files = 0;
  for (const char* name : {"model", "state"}) {
    files += std::filesystem::file_size(folder /
                                        ("step-00000000/" + std::string(name) + ".safetensors"));
  }
  // In a child process, to measure its own peak.
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::ofstream("/proc/self/clear_refs") << "5";  // resets the peak
    const std::size_t before = status_bytes("VmRSS:");
    const std::size_t peak_before = status_bytes("VmHWM:");
    const auto loaded = load_checkpoint(folder.path(), nullptr);
    const std::size_t used = status_bytes("VmHWM:") - before;
    if (before == 0 || peak_before > before + (files >> 2)) _exit(77);
    _exit(loaded && used < 2 * files ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "this kernel does not measure the peak";
  EXPECT_EQ(WEXITSTATUS(status), 0) << "more than twice " << files << " bytes";
}

}  // namespace
}  // namespace evener
