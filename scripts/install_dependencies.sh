#!/usr/bin/env bash
# Installs with apt what Zhuyi needs: scripts/install_dependencies.sh [--tests] [--more] [--texts]
#
# Without options: what building and running the program needs. --tests adds what scripts/test.sh needs, --more what
# scripts/test_more.sh needs besides, --texts makes sure that apt knows the packages that scripts/demo_corpus.sh
# downloads. Needs root or sudo only when something is missing.
set -euo pipefail

# One line for each thing that CMakeLists.txt looks for.
packages=(
  cmake ninja-build g++ pkg-config
  libfmt-dev libhwy-dev libicu-dev libsentencepiece-dev
  libcli11-dev libpugixml-dev libtomlplusplus-dev nlohmann-json3-dev zlib1g-dev
  libopenmpi-dev
)
# openmpi-bin has mpirun, binutils nm.
test_packages=(libgmock-dev libgtest-dev clang-format python3 openmpi-bin binutils)
# llvm-14 has the symbolizer that suppressions are compared with.
more_packages=(clang-14 clang-tidy-14 libomp-14-dev llvm-14 shellcheck)
text_package=libreoffice-help-zh-cn

say() { printf '%s\n' "$*" >&2; }

usage() {
  cat <<'HELP'
usage: scripts/install_dependencies.sh [--tests] [--more] [--texts]

Installs with apt what Zhuyi needs to be built and run (Debian 12 or later).
  --tests   also what scripts/test.sh needs
  --more    also what scripts/test_more.sh needs besides
  --texts   also make sure that apt knows the packages that the demo takes its texts from
HELP
}

texts=no
for option in "$@"; do
  case $option in
    --tests) packages+=("${test_packages[@]}") ;;
    --more) packages+=("${more_packages[@]}") ;;
    --texts) texts=yes ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      say "install_dependencies.sh: unknown option '$option'"
      usage >&2
      exit 2
      ;;
  esac
done

if ! command -v apt-get >/dev/null; then
  say "install_dependencies.sh: there is no apt-get here; install what these Debian packages hold: ${packages[*]}"
  exit 1
fi

# Words before a command that needs root: none for root, else sudo.
as_root=()
become_root() {
  if [[ $(id -u) -eq 0 ]]; then return; fi
  if command -v sudo >/dev/null; then
    as_root=(sudo)
    return
  fi
  say "install_dependencies.sh: neither root nor sudo here; let someone with the right to do so run"
  say "  apt-get update && apt-get install -y $1"
  exit 1
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
interrupted=no
trap 'interrupted=yes; say "  stopping as soon as the packages are in order ..."' INT TERM
leave_if_interrupted() { if [[ $interrupted == yes ]]; then exit 130; fi; }

# Runs a program of apt or dpkg without questions; what it says goes to the log.
quietly() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "$@" >"$log" 2>&1 </dev/null; }
apt() { quietly apt-get -qq -o DPkg::Lock::Timeout=300 "$@"; }

# Runs a command in a process group of its own, so that Ctrl-C does not tear dpkg out of its work.
whole() {
  local pid
  set -m
  "$@" &
  pid=$!
  set +m
  while kill -0 "$pid" 2>/dev/null; do wait "$pid" || true; done
  wait "$pid"
}

# Downloads packages, then installs them, if need be after finishing an installation that was interrupted.
install_packages() {
  local options=(install -y --no-install-recommends)
  if ! apt "${options[@]}" --download-only "$@" && ! grep -q -e 'dpkg was interrupted' -e 'fix-broken' "$log"; then
    return 1
  fi
  leave_if_interrupted
  if whole apt "${options[@]}" "$@"; then return; fi
  if ! grep -q -e 'dpkg was interrupted' -e 'fix-broken' "$log"; then return 1; fi
  say "  An earlier installation was interrupted; finishing it first ..."
  whole quietly dpkg --configure -a || true # what cannot be configured yet is mended by the next line
  whole apt "${options[@]}" --fix-broken "$@"
}

updated=no
update_lists() {
  if [[ $updated == yes ]]; then return; fi
  updated=yes
  say "Reading the lists of packages (apt-get update) ..."
  apt update || say "  apt-get update failed; trying with the lists that are there"
  leave_if_interrupted
}

is_installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

missing=()
for package in "${packages[@]}"; do
  is_installed "$package" || missing+=("$package")
done

if [[ ${#missing[@]} -gt 0 ]]; then
  become_root "${missing[*]}"
  update_lists
  say "Installing ${missing[*]} ..."
  if ! install_packages "${missing[@]}"; then
    leave_if_interrupted
    tail -n 20 "$log" >&2
    say "install_dependencies.sh: apt-get could not install ${missing[*]} (see above); is there a network?"
    exit 1
  fi
  leave_if_interrupted
fi

if [[ $texts == yes && -z $(apt-cache show "$text_package" 2>/dev/null) ]]; then
  become_root "$text_package"
  update_lists
fi
