#include "cli/interrupt.h"

#include <unistd.h>

#include <csignal>

namespace zhuyi::cli {
namespace {

// A signal handler can reach nothing else.
volatile std::sig_atomic_t wish = 0;

void note(int /*signal*/) {
  constexpr int kInterruptedExit = 130;
  if (wish != 0) ::_exit(kInterruptedExit);
  wish = 1;
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = note;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGUSR1, &action, nullptr);
}

bool interrupted() { return wish != 0; }

}  // namespace zhuyi::cli
