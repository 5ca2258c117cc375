#!/usr/bin/env bash
# Runs README's commands on a machine that has nothing: scripts/fresh_root.sh [OPTION...]
#
# Makes a minimal Debian in a folder (debootstrap), copies the committed files into it, runs there the commands that stand
# in README.md, one after another, and removes it. Stops at the first command that fails, with exit code 1.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'HELP'
usage: scripts/fresh_root.sh [OPTION...]

Runs the commands of README.md in a new minimal Debian, as root. Needs debootstrap and git.
  --list              print the commands (section, tab, command) and end
  --section TITLE     only commands of this section of README.md; may be given several times
  --only PATTERN      only commands that this extended regular expression matches
  --command COMMAND   this command instead of README's; may be given several times
  --minutes N         minutes of training in scripts/demo.sh (default: as it stands in README.md)
  --mirror URL        a Debian mirror (default: apt's on this machine)
  --folder FOLDER     where to make the root (default: a new folder below TMPDIR or /tmp)
  --cache FOLDER      keep the downloaded packages there for the next time
  --no-terminals      without pseudo-terminals
  --keep              do not remove the root; say where it is
HELP
}

say() { printf '%s\n' "$*" >&2; }
die() {
  say "fresh_root.sh: $*"
  exit 1
}
wrong_usage() {
  say "fresh_root.sh: $*"
  usage >&2
  exit 2
}

release=bookworm
sections=() own_commands=()
only='' minutes='' mirror='' folder='' cache='' list=no keep=no terminals=yes
arguments=("$@")
while [[ $# -gt 0 ]]; do
  case $1 in
    --list) list=yes ;;
    --keep) keep=yes ;;
    --no-terminals) terminals=no ;;
    -h | --help)
      usage
      exit 0
      ;;
    --section | --only | --command | --minutes | --mirror | --folder | --cache)
      [[ $# -ge 2 ]] || wrong_usage "$1 needs a value"
      case $1 in
        --section) sections+=("$2") ;;
        --only) only=$2 ;;
        --command) own_commands+=("$2") ;;
        --minutes) minutes=$2 ;;
        --mirror) mirror=$2 ;;
        --folder) folder=$2 ;;
        --cache) cache=$2 ;;
      esac
      shift
      ;;
    *) wrong_usage "unknown option '$1'" ;;
  esac
  shift
done

# Every line of README's blocks of shell commands, with the section that it stands in: SECTION, tab, COMMAND.
readme_commands() {
  awk '/^## / { section = substr($0, 4) }
    /^ *```/ { inside = !inside && /^ *```sh *$/; next }
    inside && NF { sub(/^ +/, ""); sub(/ +#.*$/, ""); print section "\t" $0 }' README.md
}

chosen_commands() {
  local section command
  if [[ ${#own_commands[@]} -gt 0 ]]; then
    printf '\t%s\n' "${own_commands[@]}"
    return
  fi
  while IFS=$'\t' read -r section command; do
    if [[ ${#sections[@]} -gt 0 ]] && ! printf '%s\n' "${sections[@]}" | grep -q -x -F -e "$section"; then continue; fi
    if [[ -n $only && ! $command =~ $only ]]; then continue; fi
    if [[ $command == scripts/demo.sh && -n $minutes ]]; then command+=" --minutes $minutes"; fi
    printf '%s\t%s\n' "$section" "$command"
  done < <(readme_commands)
}

mapfile -t commands < <(chosen_commands)
[[ ${#commands[@]} -gt 0 ]] || die "README.md has no such commands; see --list without --section and --only"
if [[ $list == yes ]]; then
  printf '%s\n' "${commands[@]}"
  exit 0
fi

[[ $(id -u) -eq 0 ]] || die "making a root needs root"
for tool in debootstrap git unshare; do
  command -v "$tool" >/dev/null || die "there is no $tool here; apt-get install debootstrap git util-linux"
done
# A mount namespace of its own: what is mounted here is seen by nobody else, and is gone with the last of its processes.
if [[ ${ZHUYI_FRESH_ROOT:-} != inside ]]; then
  ZHUYI_FRESH_ROOT=inside exec unshare --mount --propagation private -- "$PWD/scripts/fresh_root.sh" "${arguments[@]}"
fi

# What apt on this machine reads its packages from, as lines of sources.list: main of the release and its updates.
host_sources() {
  # shellcheck disable=SC2016 # these are apt's variables
  apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Identifier: Packages' 2>/dev/null |
    awk -v release="$release" '$2 ~ "^" release "(-updates|-security)?$" && $3 == "main" && !seen[$0]++ {
      print "deb", $1, $2, $3 }'
}
if [[ -n $mirror ]]; then
  sources="deb $mirror $release main"
else
  sources=$(host_sources)
  mirror=$(awk -v release="$release" '$3 == release { print $2; exit }' <<<"$sources")
  [[ -n $mirror ]] || die "apt here reads no packages of Debian $release; name a mirror with --mirror"
fi

if [[ -n $folder ]]; then
  mkdir -p "$folder"
  [[ -z $(ls -A "$folder") ]] || die "$folder is not empty"
else
  folder=$(mktemp -d "${TMPDIR:-/tmp}/fresh-root.XXXXXX")
fi
root=$(realpath "$folder")
if [[ -n $cache ]]; then
  mkdir -p "$cache"
  cache=$(realpath "$cache")
fi

mounts_below() { awk -v root="$root" '$2 == root || index($2, root "/") == 1 { print $2 }' /proc/mounts; }

# Ends what still runs in the root, unmounts what is mounted in it, and removes it once /proc/mounts shows nothing below.
clean_up() {
  local process mount_point
  if [[ -n $cache && -d $root/var/cache/apt/archives ]]; then
    cp -u "$root"/var/cache/apt/archives/*.deb "$cache" 2>/dev/null || true
  fi
  for process in /proc/[0-9]*; do
    if [[ $(readlink "$process/root") == "$root" ]]; then kill -KILL "${process#/proc/}" 2>/dev/null || true; fi
  done
  while read -r mount_point; do
    umount "$mount_point" || umount --lazy "$mount_point" || true
  done < <(mounts_below | tac)
  if [[ $keep == yes ]]; then
    say "The root is in $root. To remove it: rm -rf --one-file-system $root"
  elif [[ -n $(mounts_below) ]]; then
    say "fresh_root.sh: $root is not removed, since these are mounted in it: $(mounts_below | paste -s -d ' ')"
  else
    rm -rf --one-file-system "$root"
  fi
}
child=''
stop() {
  if [[ -n $child ]]; then kill -TERM "$child" 2>/dev/null || true; fi
  exit 130
}
trap clean_up EXIT
trap stop INT TERM HUP

# Runs a command so that a signal is heeded at once.
run() {
  local status=0
  "$@" &
  child=$!
  wait "$child" || status=$?
  child=''
  return "$status"
}

make_root() {
  local options=(--variant=minbase) log
  log=$(mktemp)
  if [[ -n $cache ]]; then options+=("--cache-dir=$cache"); fi
  run debootstrap "${options[@]}" "$release" "$root" "$mirror" >"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    die "debootstrap failed (see above; all of it is in $log)"
  }
  rm -f "$log"
  [[ -z $(mounts_below) ]] || die "debootstrap left these mounted: $(mounts_below | paste -s -d ' ')"
  [[ -c $root/dev/null && -c $root/dev/ptmx || -L $root/dev/ptmx ]] ||
    die "debootstrap could not make the nodes of $root/dev; device nodes are not permitted here"
  printf '%s\n' "$sources" >"$root/etc/apt/sources.list"
  # How this machine's apt reaches its mirrors.
  apt-config dump | grep -E '^Acquire::(http|https|Check-)' >"$root/etc/apt/apt.conf.d/00-as-outside" || true
  cp /etc/hosts /etc/resolv.conf "$root/etc/"
  if [[ -e /etc/ssl/certs/ca-certificates.crt ]]; then
    mkdir -p "$root/etc/ssl/certs"
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  fi
  if [[ -n $cache ]]; then cp "$cache"/*.deb "$root/var/cache/apt/archives/"; fi
  mount -t proc proc "$root/proc"
  if [[ $terminals == yes ]]; then
    mkdir -p "$root/dev/pts"
    mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts "$root/dev/pts"
    ln -sf pts/ptmx "$root/dev/ptmx"
  fi
  mkdir "$root/zhuyi"
  git archive HEAD | tar -x -C "$root/zhuyi"
}

# Runs a command in the root as a newcomer would, with an environment that holds nothing of this machine's.
inside() {
  run chroot "$root" /usr/bin/env -i HOME=/root TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    /bin/bash -o pipefail -c "cd /zhuyi && $1" </dev/null
}

say "Making a Debian $release in $root ..."
start=$SECONDS
make_root
summary=("$(printf '%5d s  %s' $((SECONDS - start)) debootstrap)")
for line in "${commands[@]}"; do
  command=${line#*$'\t'}
  printf '\n[%s] $ %s\n' "${line%%$'\t'*}" "$command"
  start=$SECONDS
  status=0
  inside "$command" || status=$?
  summary+=("$(printf '%5d s  %s' $((SECONDS - start)) "$command")")
  [[ $status -eq 0 ]] || die "'$command' ended with exit code $status"
done
printf '\n=== All commands went well ===\n'
printf '%s\n' "${summary[@]}"
