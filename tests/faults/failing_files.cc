// Preloaded before the C library. One call on a file below the folder EVENER_TEST_FAULT_FOLDER
// fails: the N-th of EVENER_TEST_FAULT="N ERROR", where ERROR is a number of errno, or 0 for a
// write that writes only a part. The number of such calls is written to EVENER_TEST_FAULT_COUNT
// when the process ends.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

namespace {

std::atomic<long> g_calls{0};

const char* folder() {
  static const char* const path = std::getenv("EVENER_TEST_FAULT_FOLDER");
  return path;
}

struct Fault {
  long call = 0;
  int error = 0;
};

Fault fault() {
  static const Fault chosen = [] {
    Fault read;
    const char* text = std::getenv("EVENER_TEST_FAULT");
    if (text != nullptr && std::sscanf(text, "%ld %d", &read.call, &read.error) != 2) std::abort();
    return read;
  }();
  return chosen;
}

bool is_below(const char* path) {
  return folder() != nullptr && path != nullptr &&
         std::strncmp(path, folder(), std::strlen(folder())) == 0;
}

bool is_below(int descriptor) {
  if (folder() == nullptr) return false;
  std::array<char, 4096> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const int before = errno;
  const ssize_t size = readlink(link.c_str(), path.data(), path.size() - 1);
  errno = before;
  return size > 0 && is_below(path.data());
}

/// Whether this call is the one that fails.
bool is_chosen() {
  return ++g_calls == fault().call;
}

/// Sets errno and returns true if a call on this file is the one that fails.
template <class File>
bool fails(File file) {
  if (!is_below(file) || !is_chosen() || fault().error == 0) return false;
  errno = fault().error;
  return true;
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// The number of bytes that a write may write; -1 if it fails.
ssize_t allowed(int descriptor, std::size_t size) {
  const auto whole = static_cast<ssize_t>(size);
  if (!is_below(descriptor) || !is_chosen()) return whole;
  if (fault().error == 0) return std::max<ssize_t>(whole / 2, std::min<ssize_t>(whole, 1));
  errno = fault().error;
  return -1;
}

mode_t mode_of(int flags, va_list more) {
  return (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
}

struct WriteCount {
  ~WriteCount() {
    const char* path = std::getenv("EVENER_TEST_FAULT_COUNT");
    std::FILE* file = path != nullptr ? std::fopen(path, "w") : nullptr;
    if (file == nullptr) return;
    std::fprintf(file, "%ld\n", g_calls.load());
    std::fclose(file);
  }
} g_write_count;

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* data, size_t size) {
  static auto* const next = real<ssize_t(int, const void*, size_t)>("write");
  const ssize_t count = allowed(descriptor, size);
  return count < 0 ? -1 : next(descriptor, data, static_cast<size_t>(count));
}

ssize_t pwrite(int descriptor, const void* data, size_t size, off_t offset) {
  static auto* const next = real<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  const ssize_t count = allowed(descriptor, size);
  return count < 0 ? -1 : next(descriptor, data, static_cast<size_t>(count), offset);
}

ssize_t read(int descriptor, void* data, size_t size) {
  static auto* const next = real<ssize_t(int, void*, size_t)>("read");
  return fails(descriptor) ? -1 : next(descriptor, data, size);
}

ssize_t pread(int descriptor, void* data, size_t size, off_t offset) {
  static auto* const next = real<ssize_t(int, void*, size_t, off_t)>("pread");
  return fails(descriptor) ? -1 : next(descriptor, data, size, offset);
}

int fsync(int descriptor) {
  static auto* const next = real<int(int)>("fsync");
  return fails(descriptor) ? -1 : next(descriptor);
}

int ftruncate(int descriptor, off_t size) noexcept {
  static auto* const next = real<int(int, off_t)>("ftruncate");
  return fails(descriptor) ? -1 : next(descriptor, size);
}

int rename(const char* from, const char* to) noexcept {
  static auto* const next = real<int(const char*, const char*)>("rename");
  return fails(to) ? -1 : next(from, to);
}

int unlink(const char* path) noexcept {
  static auto* const next = real<int(const char*)>("unlink");
  return fails(path) ? -1 : next(path);
}

int flock(int descriptor, int operation) noexcept {
  static auto* const next = real<int(int, int)>("flock");
  return fails(descriptor) ? -1 : next(descriptor, operation);
}

/// Linux closes the file in any case.
int close(int descriptor) {
  static auto* const next = real<int(int)>("close");
  const bool failed = fails(descriptor);
  const int error = errno;
  const int result = next(descriptor);
  if (!failed) return result;
  errno = error;
  return -1;
}

DIR* opendir(const char* path) {
  static auto* const next = real<DIR*(const char*)>("opendir");
  return fails(path) ? nullptr : next(path);
}

int mkdir(const char* path, mode_t mode) noexcept {
  static auto* const next = real<int(const char*, mode_t)>("mkdir");
  return fails(path) ? -1 : next(path, mode);
}

void* mmap(void* address, size_t size, int access, int flags, int descriptor,
           off_t offset) noexcept {
  static auto* const next = real<void*(void*, size_t, int, int, int, off_t)>("mmap");
  if (descriptor >= 0 && fails(descriptor)) return MAP_FAILED;
  return next(address, size, access, flags, descriptor, offset);
}

int open(const char* path, int flags, ...) {
  static auto* const next = real<int(const char*, int, ...)>("open");
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return fails(path) ? -1 : next(path, flags, mode);
}

}  // extern "C"
