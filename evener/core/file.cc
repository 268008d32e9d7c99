#include "evener/core/file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "evener/core/error.h"

namespace evener {

namespace {

[[noreturn]] void fail_with(const std::string& path, const std::string& what, int error) {
  throw Error(path + ": " + what + ": " + std::strerror(error));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// The kernel writes at most about 2 GiB per call, and a signal may interrupt it.
void write_all(int fd, const char* data, std::size_t size, const std::string& path) {
  while (size > 0) {
    const ssize_t written = ::write(fd, data, std::min(size, std::size_t{1} << 30));
    if (written < 0) {
      if (errno == EINTR) continue;
      fail_with(path, "cannot write", errno);
    }
    data += written;
    size -= static_cast<std::size_t>(written);
  }
}

// Renaming is durable only once the directory itself is on disk. File systems that cannot sync a
// directory return EINVAL; nothing more can be done on them.
void sync_directory_of(const std::string& path) {
  auto directory = std::filesystem::path(path).parent_path();
  if (directory.empty()) directory = ".";
  const Descriptor fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0 || (fsync(fd.get()) != 0 && errno != EINVAL)) {
    fail_with(path, "cannot sync its directory", errno);
  }
}

constexpr std::size_t kReadBlock = 65536;

// Non-blocking: opening a named pipe without a writer must not hang.
int open_to_read(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) fail_with(path, "cannot open", errno);
  return fd;
}

struct stat status_of(int fd, const std::string& path) {
  struct stat status {};
  if (fstat(fd, &status) != 0) fail_with(path, "cannot read", errno);
  if (S_ISDIR(status.st_mode)) fail_with(path, "cannot read", EISDIR);
  return status;
}

/// The file that is replaced if `path` is written: `path`, or the file that it links to.
std::string replaceable(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  const fs::file_type type = fs::status(path, unknown).type();
  const bool regular = type == fs::file_type::regular || type == fs::file_type::not_found;
  if (!regular && type != fs::file_type::directory && type != fs::file_type::none) {
    throw Error(path + ": is not a regular file");
  }
  fs::path target = path;  // a link may lead to another, and the last to a file that is not there
  for (int links = 0; fs::is_symlink(target, unknown); ++links) {
    if (links == 40) fail_with(path, "cannot follow this link", ELOOP);
    target = target.parent_path() / fs::read_symlink(target);
  }
  return target;
}

}  // namespace

bool is_missing(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::status(path, unknown).type() == std::filesystem::file_type::not_found;
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

std::string read_whole_file(const std::string& path, std::size_t limit) {
  const Descriptor fd(open_to_read(path));
  const struct stat status = status_of(fd.get(), path);
  const bool pipe = S_ISFIFO(status.st_mode);
  if (!pipe && !S_ISREG(status.st_mode)) throw Error(path + ": is not a regular file or a pipe");
  std::string text;
  for (;;) {
    const std::size_t before = text.size();
    text.resize(before + kReadBlock);
    const ssize_t count = read(fd.get(), text.data() + before, kReadBlock);
    const int error = errno;
    text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0) break;
    if (text.size() > limit) {
      throw Error(path + ": is longer than " + std::to_string(limit) + " bytes");
    }
    if (count > 0 || error == EINTR) continue;
    if (error != EAGAIN) fail_with(path, "cannot read", error);
    pollfd readable{fd.get(), POLLIN, 0};  // the pipe has a writer that has not written yet
    poll(&readable, 1, -1);
  }
  if (pipe && text.empty()) throw Error(path + ": is a pipe to which no process has written");
  return std::string(without_byte_order_mark(text));
}

MappedFile::MappedFile(const std::string& path) {
  const Descriptor fd(open_to_read(path));
  const struct stat status = status_of(fd.get(), path);
  if (!S_ISREG(status.st_mode)) throw Error(path + ": is not a regular file");
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;
  void* memory = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (memory == MAP_FAILED) fail_with(path, "cannot map", errno);
  data_ = static_cast<const std::byte*>(memory);
  try {
    guard_ = MappingGuard(memory, size_, path);
  } catch (...) {
    munmap(memory, size_);
    throw;
  }
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      guard_(std::move(other.guard_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(guard_, other.guard_);
  return *this;
}

MappedFile::~MappedFile() {
  guard_ = MappingGuard();  // before another mapping can get these addresses
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

// Not mkstemp: that makes private files, while most results should be as readable as any new file.
AtomicFile::AtomicFile(const std::string& path, Readers readers)
    : path_(path), target_(replaceable(path)) {
  static std::atomic<unsigned> counter{0};
  const mode_t mode = readers == Readers::owner ? 0600 : 0666;
  do {
    temporary_ = target_ + ".tmp" + std::to_string(getpid()) + "." + std::to_string(counter++);
    descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) fail("cannot create a file beside it");
  // Held until the file is closed, even if the process is killed. File systems without locks are
  // used without one.
  flock(descriptor_, LOCK_EX | LOCK_NB);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* what) const {
  fail_with(path_, what, errno);
}

void AtomicFile::write(const void* data, std::size_t size) {
  write_all(descriptor_, static_cast<const char*>(data), size, path_);
}

void AtomicFile::write_at(std::size_t offset, const void* data, std::size_t size) {
  const off_t end = lseek(descriptor_, 0, SEEK_CUR);
  if (end < 0 || lseek(descriptor_, static_cast<off_t>(offset), SEEK_SET) < 0) fail("cannot seek");
  write_all(descriptor_, static_cast<const char*>(data), size, path_);
  if (lseek(descriptor_, end, SEEK_SET) < 0) fail("cannot seek");
}

void AtomicFile::commit() {
  if (fsync(descriptor_) != 0) fail("cannot sync");
  replaceable(path_);  // it may have become something else meanwhile
  if (rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot rename its temporary file");
  close(std::exchange(descriptor_, -1));
  sync_directory_of(target_);
}

void write_atomically(const std::string& path, std::span<const std::byte> contents,
                      Readers readers) {
  AtomicFile file(path, readers);
  file.write(contents.data(), contents.size());
  file.commit();
}

}  // namespace evener
