#!/usr/bin/env bash
# Installs what is needed, checks the formatting, builds with warnings as errors, runs all tests, and runs them again
# under AddressSanitizer and UndefinedBehaviorSanitizer: scripts/test.sh
#
# Stops at the first part that fails, with exit code 1. The summary stays in build/test-summary.txt.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ $# -gt 0 ]]; then
  echo "usage: scripts/test.sh (no options; 10 to 25 minutes on two cores)" >&2
  if [[ $1 == --help || $1 == -h ]]; then exit 0; fi
  exit 2
fi

# shellcheck source=scripts/parts.sh
source scripts/parts.sh
summary=build/test-summary.txt
rm -f "$summary"

build_release() {
  cmake --preset release -DZHUYI_WERROR=ON -DZHUYI_TESTS=ON -DZHUYI_PROGRAM=ON -DZHUYI_BENCH=ON -DZHUYI_EXAMPLES=ON \
    >build/configure.log ||
    { cat build/configure.log && return 1; }
  cmake --build --preset release -j "$jobs"
}

build_asan() {
  cmake --preset asan -DZHUYI_WERROR=ON -DZHUYI_TESTS=ON -DZHUYI_PROGRAM=ON -DZHUYI_BENCH=OFF -DZHUYI_EXAMPLES=OFF \
    >build/configure.log ||
    { cat build/configure.log && return 1; }
  cmake --build --preset asan -j "$jobs"
}

# run_tests PRESET OPTION...: ctest, kept in build/PRESET/ctest.log.
run_tests() {
  local preset=$1
  shift
  ctest --preset "$preset" -j "$jobs" "$@" 2>&1 | tee "build/$preset/ctest.log"
}

# The closing lines of ctest.
closing_lines() { sed -n '/tests passed,/,$p' "build/$1/ctest.log" | sed '/^$/d'; }

write_summary() {
  echo "Time of each part:"
  printf '%s\n' "${times[@]}"
  echo "Tests under AddressSanitizer and UndefinedBehaviorSanitizer:"
  closing_lines asan
  echo "All tests:"
  closing_lines release
}

part "What is needed is installed" scripts/install_dependencies.sh --tests
part "Files are formatted" scripts/format.sh --check
part "Release build, warnings are errors" build_release
part "All tests" run_tests release
part "Build with AddressSanitizer and UndefinedBehaviorSanitizer" build_asan
part "Tests under AddressSanitizer and UndefinedBehaviorSanitizer" run_tests asan

write_summary >"$summary"
printf '\n=== Summary ===\n'
cat "$summary"
