#pragma once
// A program that is killed at one of the moments when it changes files, or in the middle of one (Linux, x86-64).

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

namespace zhuyi::testing {

// When to kill: at the `change`-th change of files, counted from 1; 0: never.
struct Moment {
  enum class Where { before, after, torn };  // torn: a write writes half of its bytes
  std::int64_t change = 0;
  Where where = Where::before;
};

#ifdef __x86_64__

// Whether a system call changes what files hold or which there are.
inline bool changes_files(const user_regs_struct& call) {
  constexpr std::uint64_t kLastStream = 2;
  switch (call.orig_rax) {
    case SYS_write:
    case SYS_pwrite64:
      return call.rdi > kLastStream;
    case SYS_openat:
      return (call.rdx & static_cast<std::uint64_t>(O_CREAT | O_TRUNC)) != 0;
    case SYS_rename:
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_unlink:
    case SYS_unlinkat:
    case SYS_truncate:
    case SYS_ftruncate:
    case SYS_mkdir:
    case SYS_mkdirat:
    case SYS_fsync:
      return true;
    default:
      return false;
  }
}

// Waits for the program's next stop and hands it on to its next system call, or the end of this one. False when it has
// ended, or cannot be traced.
inline bool next_stop(pid_t process, int& status, int signal_number) {
  if (ptrace(PTRACE_SYSCALL, process, nullptr, signal_number) != 0) return false;
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFSTOPPED(status);
}

struct Traced {
  bool possible = true;  // false: this system does not let a program be traced
  bool killed = false;
  int exit_code = -1;
  std::int64_t changes = 0;  // of files, that it came to
};

// Runs a program with these arguments and kills it at `moment`; what it prints is lost.
inline Traced run_traced(const std::string& program, const std::vector<std::string>& arguments, const Moment& moment) {
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t process = fork();
  if (process == 0) {
    const int nowhere = open("/dev/null", O_RDWR);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, stream);
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(126);
    execv(program.c_str(), argv.data());
    _exit(127);
  }
  Traced result;
  int status = 0;
  waitpid(process, &status, 0);
  if (!WIFSTOPPED(status) ||
      ptrace(PTRACE_SETOPTIONS, process, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) != 0) {
    result.possible = false;
    if (WIFSTOPPED(status)) kill(process, SIGKILL);
    waitpid(process, &status, 0);
    return result;
  }
  constexpr int kSystemCall = SIGTRAP | 0x80;
  bool inside = false;
  bool ends_here = false;
  int signal_number = 0;
  while (next_stop(process, status, signal_number)) {
    signal_number = WSTOPSIG(status) == kSystemCall ? 0 : WSTOPSIG(status);
    if (signal_number != 0) continue;
    inside = !inside;
    if (!inside && !ends_here) continue;
    if (!ends_here) {
      user_regs_struct call{};
      ptrace(PTRACE_GETREGS, process, nullptr, &call);
      if (!changes_files(call) || ++result.changes != moment.change) continue;
      ends_here = true;
      if (moment.where == Moment::Where::torn && call.orig_rax == SYS_write) {
        call.rdx /= 2;
        ptrace(PTRACE_SETREGS, process, nullptr, &call);
      }
      if (moment.where != Moment::Where::before) continue;
    }
    result.killed = true;
    kill(process, SIGKILL);
    waitpid(process, &status, 0);
    return result;
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

#else

struct Traced {
  bool possible = false;
  bool killed = false;
  int exit_code = -1;
  std::int64_t changes = 0;
};
inline Traced run_traced(const std::string&, const std::vector<std::string>&, const Moment&) { return {}; }

#endif

}  // namespace zhuyi::testing
