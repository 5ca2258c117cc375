#!/usr/bin/env bash
# Formats the C++ files with clang-format: scripts/format.sh [--check]
#
# --check changes nothing, and fails when a file is not formatted. Debian 12's clang-format (14) is the one that counts:
# other versions break lines elsewhere.
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in
  '') how=(-i) ;;
  --check) how=(--dry-run -Werror) ;;
  *)
    echo "usage: scripts/format.sh [--check]" >&2
    if [[ $1 == --help || $1 == -h ]]; then exit 0; fi
    exit 2
    ;;
esac

program=clang-format
if command -v clang-format-14 >/dev/null; then program=clang-format-14; fi
if ! command -v "$program" >/dev/null; then
  echo "format.sh: there is no clang-format; scripts/install_dependencies.sh --tests installs it" >&2
  exit 1
fi
find bench examples include src tests \( -name '*.h' -o -name '*.cc' -o -name '*.c' \) -print0 | xargs -0 -r -n 40 -P 2 "$program" "${how[@]}"
