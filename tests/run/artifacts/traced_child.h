// A child process that is stopped before each of its system calls. Tests kill it at that point, or
// record the order of its file system operations.
#pragma once

#include <array>
#include <csignal>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

namespace evener {

class TracedChild {
 public:
  enum class Stop { call, exited, lost };

  explicit TracedChild(const std::function<void()>& work) : pid_(fork()) {
    if (pid_ == 0) {
      if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(77);
      std::raise(SIGSTOP);
      try {
        work();
      } catch (...) {
        _exit(1);
      }
      _exit(0);
    }
    int status = 0;
    permitted_ =
        pid_ > 0 && waitpid(pid_, &status, 0) == pid_ && WIFSTOPPED(status) &&
        ptrace(PTRACE_SETOPTIONS, pid_, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) == 0;
    if (!permitted_ && pid_ > 0 && !WIFSTOPPED(status)) pid_ = -1;
  }
  TracedChild(const TracedChild&) = delete;
  TracedChild& operator=(const TracedChild&) = delete;
  ~TracedChild() { kill_now(); }

  bool permitted() const { return permitted_; }
  int exit_code() const { return exit_code_; }

  /// Continues until the next system call is about to begin, or the child has ended.
  Stop next() {
    do {
      int status = 0;
      if (ptrace(PTRACE_SYSCALL, pid_, nullptr, nullptr) != 0 ||
          waitpid(pid_, &status, 0) != pid_) {
        return Stop::lost;
      }
      if (WIFEXITED(status)) {
        exit_code_ = WEXITSTATUS(status);
        pid_ = -1;
        return Stop::exited;
      }
      if (!WIFSTOPPED(status)) return Stop::lost;
      ptrace(PTRACE_GET_SYSCALL_INFO, pid_, sizeof(call_), &call_);
    } while (call_.op != PTRACE_SYSCALL_INFO_ENTRY);
    return Stop::call;
  }

  /// "fsync PATH" or "rename FROM TO" if that is what the call does, else empty.
  std::string file_event() const {
    const auto& args = call_.entry.args;
    switch (call_.entry.nr) {
      case SYS_fsync:
        return "fsync " + path_of_descriptor(args[0]);
#ifdef SYS_rename
      case SYS_rename:
        return "rename " + text_at(args[0]) + " " + text_at(args[1]);
#endif
      case SYS_renameat:
      case SYS_renameat2:
        return "rename " + text_at(args[1]) + " " + text_at(args[3]);
      default:
        return "";
    }
  }

  void kill_now() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  std::string path_of_descriptor(std::uint64_t descriptor) const {
    const std::string link = "/proc/" + std::to_string(pid_) + "/fd/" + std::to_string(descriptor);
    std::array<char, 4096> path{};
    const ssize_t n = readlink(link.c_str(), path.data(), path.size());
    return n > 0 ? std::string(path.data(), static_cast<std::size_t>(n)) : "?";
  }
  std::string text_at(std::uint64_t address) const {
    std::string text;
    for (char c = 0;; text += c) {
      const iovec here{&c, 1};
      const iovec there{reinterpret_cast<void*>(address + text.size()), 1};
      if (process_vm_readv(pid_, &here, 1, &there, 1, 0) != 1 || c == '\0') return text;
    }
  }

  pid_t pid_;
  bool permitted_ = false;
  int exit_code_ = -1;
  __ptrace_syscall_info call_{};
};

}  // namespace evener
