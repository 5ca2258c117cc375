# shellcheck shell=bash
# What the scripts that check the project have in common; to be sourced in the project's folder.

# Compilations and tests at a time.
jobs=2
# shellcheck disable=SC2034
if [[ $(nproc) -gt 2 ]]; then jobs=$(nproc); fi
mkdir -p build

times=()
# part TITLE COMMAND...: runs a part of the checks under a heading, and keeps its time; ends the script if it fails.
part() {
  local title=$1 start=$SECONDS
  shift
  printf '\n=== %s ===\n' "$title"
  if ! "$@"; then
    printf '\n=== FAILED: %s (after %d s) ===\n' "$title" $((SECONDS - start)) >&2
    exit 1
  fi
  times+=("$(printf '%4d s  %s' $((SECONDS - start)) "$title")")
}
