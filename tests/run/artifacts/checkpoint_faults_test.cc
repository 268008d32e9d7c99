// Checkpoints when the process is killed or the disk fails.
#include <cerrno>
#include <csignal>
#include <cstring>

#include "tests/run/artifacts/checkpoints.h"
#include "tests/run/artifacts/file_limit.h"
#include "tests/run/artifacts/traced_child.h"
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

namespace evener {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Every checkpoint is complete, not only the newest one.
std::uint64_t intact_steps(const std::string& directory) {
  for (const std::string& name : names_in(directory)) {
    if (name.rfind("step-", 0) != 0) continue;
    const std::string path = directory + "/" + name;
    EXPECT_EQ(error_of([&] {
                load_model(path + "/model.safetensors");
                const TensorFile state(path + "/state.safetensors");
              }),
              "");
  }
  return intact_step(directory);
}

/// A child that saves one checkpoint after the other and reports each through a pipe.
class Saver {
 public:
  Saver(const std::string& directory, std::uint64_t first) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      for (std::uint64_t step = first;; ++step) {
        save_checkpoint(checkpoint_of(step), directory);
        if (write(ends[1], "x", 1) != 1) _exit(1);
      }
    }
    close(ends[1]);
    told_ = ends[0];
  }
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;
  ~Saver() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(told_);
  }
  bool wait_for_one() const {
    char byte = 0;
    return read(told_, &byte, 1) == 1;
  }

 private:
  pid_t pid_ = -1;
  int told_ = -1;
};

TEST(CheckpointFaults, KilledAtFiftyRandomMoments) {
  const Folder folder;
  save_checkpoint(checkpoint_of(1), folder.path());
  Random random(2024);
  std::uint64_t least = 1;
  for (int moment = 0; moment < 50; ++moment) {
    {
      const Saver saver(folder.path(), least + 1);
      for (std::uint64_t wanted = random.below(3); wanted > 0; --wanted) {
        ASSERT_TRUE(saver.wait_for_one());
        ++least;
      }
      // The exact moment does not matter.
      usleep(static_cast<useconds_t>(random.below(30000)));
    }
    const std::uint64_t step = intact_steps(folder.path());
    ASSERT_GE(step, least) << "a complete checkpoint is missing";
    if (HasFailure()) return;
    least = step;
  }
}

/// Kills a save of `step_after(newest)` before its 1st, 2nd, ... system call, up to its end.
template <class StepAfter>
void kill_at_every_call(const std::string& directory, StepAfter step_after) {
  for (int calls = 1;; ++calls) {
    const std::uint64_t before = intact_step(directory);
    const std::uint64_t saving = step_after(before);
    TracedChild child([&] { save_checkpoint(checkpoint_of(saving), directory); });
    if (!child.permitted()) GTEST_SKIP() << "tracing a child is not permitted here";
    auto stop = TracedChild::Stop::call;
    for (int i = 0; i < calls && stop == TracedChild::Stop::call; ++i) stop = child.next();
    ASSERT_NE(stop, TracedChild::Stop::lost);
    child.kill_now();
    const std::uint64_t after = intact_steps(directory);
    ASSERT_TRUE(after == before || after == saving) << "killed before call " << calls;
    ASSERT_FALSE(testing::Test::HasFailure()) << "killed before call " << calls;
    if (stop == TracedChild::Stop::exited) {
      EXPECT_EQ(child.exit_code(), 0);
      EXPECT_EQ(after, saving);
      EXPECT_GT(calls, 20) << "hardly all that a save needs";
      return;
    }
  }
}

TEST(CheckpointFaults, KilledAtEverySystemCall) {
  const Folder folder;
  save_checkpoint(checkpoint_of(1), folder.path());
  kill_at_every_call(folder.path(), [](std::uint64_t newest) { return newest + 1; });
}

TEST(CheckpointFaults, KilledAtEverySystemCallWhileReplacingTheOnlyOne) {
  const Folder folder;
  save_checkpoint(checkpoint_of(1), folder.path());
  kill_at_every_call(folder.path(), [](std::uint64_t newest) { return newest; });
}

/// The directory as DIR, and AtomicFile's NAME.tmpPID.N as NAME.part.
std::string without_numbers(std::string event, const std::string& directory) {
  for (std::size_t at; (at = event.find(directory)) != std::string::npos;) {
    event.replace(at, directory.size(), "DIR");
  }
  const std::string mark = ".safetensors.tmp";
  for (std::size_t at; (at = event.find(mark)) != std::string::npos;) {
    const std::size_t end = event.find_first_not_of("0123456789.", at + mark.size());
    event.replace(at, std::min(end, event.size()) - at, ".safetensors.part");
  }
  return event;
}

TEST(CheckpointFaults, IsOnDiskBeforeItGetsItsName) {
  const Folder folder;
  save_checkpoint(checkpoint_of(1), folder.path());
  TracedChild child([&] { save_checkpoint(checkpoint_of(2), folder.path()); });
  if (!child.permitted()) GTEST_SKIP() << "tracing a child is not permitted here";
  std::vector<std::string> events;
  while (child.next() == TracedChild::Stop::call) {
    const std::string event = child.file_event();
    if (event.empty()) continue;
    events.push_back(without_numbers(event, folder.path()));
  }
  EXPECT_EQ(child.exit_code(), 0);
  const std::string temporary = "DIR/.tmp-step-00000002";
  std::vector<std::string> expected;
  for (const char* name : {"model", "state"}) {
    const std::string file = temporary + "/" + name + ".safetensors";
    expected.push_back("fsync " + file + ".part");
    expected.push_back("rename " + file + ".part " + file);
    expected.push_back("fsync " + temporary);
  }
  expected.push_back("fsync " + temporary);
  expected.push_back("rename " + temporary + " DIR/step-00000002");
  expected.push_back("fsync DIR");
  EXPECT_EQ(events, expected);
}

TEST(CheckpointFaults, NoRoomForAFile) {
  const Folder folder;
  save_checkpoint(checkpoint_of(1), folder.path());
  const std::size_t size =
      std::filesystem::file_size(folder / "step-00000001/state.safetensors") - 1;
  for (std::size_t bytes = 0; bytes <= size; bytes += size / 20) {
    {
      const FileLimit limit(bytes);
      EXPECT_THAT(error_of([&] { save_checkpoint(checkpoint_of(2), folder.path()); }),
                  HasSubstr("cannot write: File too large"));
    }
    EXPECT_EQ(intact_step(folder.path()), 1U);
    EXPECT_THAT(names_in(folder.path()), ElementsAre("step-00000001"));
  }
}

/// A small file system that only this process sees; needs the right to mount.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& path, const char* options) : path_(path) {
    mounted_ = unshare(CLONE_NEWNS) == 0 &&
               mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               mount("tmpfs", path.c_str(), "tmpfs", 0, options) == 0;
    if (!mounted_) reason_ = std::strerror(errno);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  const std::string& reason() const { return reason_; }
  bool make_read_only() const {
    return mount(nullptr, path_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }

 private:
  std::string path_;
  bool mounted_ = false;
  std::string reason_;
};

TEST(CheckpointFaults, FullDisk) {
  const Folder folder;
  const SmallDisk disk(folder.path(), "size=256k");
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount a small disk: " << disk.reason();
  const std::string checkpoints = folder / "checkpoints";
  save_checkpoint(checkpoint_of(1), checkpoints);
  put_contents(folder / "filler", std::string(1 << 20, 'x'));
  std::size_t filled = std::filesystem::file_size(folder / "filler");
  ASSERT_LT(filled, std::size_t{1} << 20) << "the disk should be full";
  // Grows page by page until a second checkpoint fits.
  std::string error;
  int failures = 0;
  for (;; ++failures) {
    error = error_of([&] { save_checkpoint(checkpoint_of(2), checkpoints); });
    if (error.empty()) break;
    ASSERT_THAT(error, HasSubstr("No space left on device"));
    ASSERT_EQ(intact_step(checkpoints), 1U);
    ASSERT_THAT(names_in(checkpoints), ElementsAre("step-00000001"));
    ASSERT_GE(filled, 4096U);
    std::filesystem::resize_file(folder / "filler", filled -= 4096);
  }
  EXPECT_GE(failures, 2);
  EXPECT_EQ(intact_step(checkpoints), 2U);
}

TEST(CheckpointFaults, ReadOnlyDisk) {
  const Folder folder;
  const SmallDisk disk(folder.path(), "size=1m");
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount a small disk: " << disk.reason();
  save_checkpoint(checkpoint_of(1), folder.path());
  ASSERT_TRUE(disk.make_read_only());
  EXPECT_THAT(error_of([&] { save_checkpoint(checkpoint_of(2), folder.path()); }),
              HasSubstr("cannot create: Read-only file system"));
  EXPECT_THAT(error_of([&] { save_checkpoint(checkpoint_of(2), folder / "new"); }),
              HasSubstr("new: cannot create: Read-only file system"));
  EXPECT_EQ(intact_step(folder.path()), 1U);
}

}  // namespace
}  // namespace evener
