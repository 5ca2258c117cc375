#!/usr/bin/env bash
# What is checked now and then beside scripts/test.sh, by other tools: scripts/test_more.sh
#
# The scripts with shellcheck; everything built by clang with warnings as errors; the checks of .clang-tidy over src/; the
# unit tests under ThreadSanitizer. Installs what it needs. Stops at the first part that fails, with exit code 1.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ $# -gt 0 ]]; then
  echo "usage: scripts/test_more.sh (no options; half an hour on two cores)" >&2
  if [[ $1 == --help || $1 == -h ]]; then exit 0; fi
  exit 2
fi

# shellcheck source=scripts/parts.sh
source scripts/parts.sh

# build PRESET OPTION...: configures, and builds all.
build() {
  local preset=$1
  shift
  cmake --preset "$preset" -DZHUYI_WERROR=ON -DZHUYI_TESTS=ON "$@" >build/configure.log || {
    cat build/configure.log
    return 1
  }
  cmake --build --preset "$preset" -j "$jobs"
}

check_source() {
  find src -name '*.cc' -print0 | xargs -0 -n 4 -P "$jobs" clang-tidy-14 -p build/clang --quiet
}

part "What is needed is installed" scripts/install_dependencies.sh --tests --more
part "Scripts (shellcheck)" shellcheck --severity=warning .ci/run scripts/*.sh bench/*.sh
part "Build with clang, warnings are errors" build clang -DZHUYI_PROGRAM=ON -DZHUYI_BENCH=ON -DZHUYI_EXAMPLES=ON
part "Source (clang-tidy)" check_source
part "Build with ThreadSanitizer" build tsan -DZHUYI_PROGRAM=OFF -DZHUYI_BENCH=OFF -DZHUYI_EXAMPLES=OFF
part "Unit tests under ThreadSanitizer" ctest --preset tsan -j "$jobs"

printf '\n=== All went well ===\n'
printf '%s\n' "${times[@]}"
