#pragma once
// Ctrl-C, SIGTERM and SIGUSR1 (which mpirun passes on) as a wish to stop, asked for where stopping loses
// nothing.

namespace zhuyi::cli {

// From now on SIGINT, SIGTERM and SIGUSR1 only note the wish; a second one ends the program at once with exit code 130.
void catch_interrupts();

// Whether one has come since catch_interrupts().
bool interrupted();

}  // namespace zhuyi::cli
