#pragma once
// Programs seen from outside: run one with arguments and standard input, see its exit code, output and messages.

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "temporary_folder.h"

namespace zhuyi::testing {

using zhuyi::TemporaryFolder;

// The whole content of a file.
inline std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

// What a program that has ended leaves.
struct Outcome {
  int exit_code = 0;  // 128 + n when signal n ended it
  std::string out;    // standard output
  std::string err;    // standard error
};

// A program that runs. Its three streams are files, so it waits for nobody and no pipe fills up; no shell reads its
// arguments.
class RunningProgram {
 public:
  // Starts `program` with these arguments and this standard input. The environment is that of the test.
  RunningProgram(const std::string& program, const std::vector<std::string>& arguments, const std::string& input) {
    const std::string in = folder_.write("in", input);
    std::vector<std::string> words = {program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t streams;
    posix_spawn_file_actions_init(&streams);
    posix_spawn_file_actions_addopen(&streams, STDIN_FILENO, in.c_str(), O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&streams, STDOUT_FILENO, folder_.file("out").c_str(), O_WRONLY | O_CREAT, 0600);
    posix_spawn_file_actions_addopen(&streams, STDERR_FILENO, folder_.file("err").c_str(), O_WRONLY | O_CREAT, 0600);
    const int status = posix_spawn(&process_, program.c_str(), &streams, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&streams);
    if (status != 0) throw std::runtime_error("cannot start " + program);
  }
  ~RunningProgram() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  // Sends a signal, for example SIGINT, while it runs.
  void send(int signal_number) const { kill(process_, signal_number); }
  // What it has written to standard output and standard error so far.
  std::string out() const { return content_of(folder_.file("out")); }
  std::string err() const { return content_of(folder_.file("err")); }

  // Waits for its end; once.
  Outcome wait() {
    int status = 0;
    while (waitpid(process_, &status, 0) < 0) {
      if (errno != EINTR) throw std::runtime_error("cannot wait for the program");
    }
    process_ = -1;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), out(), err()};
  }

 private:
  TemporaryFolder folder_;
  pid_t process_ = -1;
};

// Runs any program to its end.
inline Outcome run_program(const std::string& program, const std::vector<std::string>& arguments,
                           const std::string& input = "") {
  return RunningProgram(program, arguments, input).wait();
}

}  // namespace zhuyi::testing
