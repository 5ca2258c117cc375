#!/usr/bin/env bash
# From nothing to an English-Chinese translator: scripts/demo.sh [--minutes N]
#
# Installs what is needed, builds the program, brings texts in both languages from Debian's packages, trains, and shows
# what was learnt. Running it again continues where it stopped; removing demo/ starts over.
set -euo pipefail
cd "$(dirname "$0")/.."

# How the demo trains, beside its minutes: options of `zhuyi train` (docs/training.md says why).
recipe=(--encoder-layers 2 --decoder-layers 2 --vocabulary 6000 --batch-tokens 768
  --schedule linear --learning-rate 2e-3 --warmup 200)

zhuyi=build/release/zhuyi
run=demo/run
model=$run/model.safetensors
picture=demo/attention.html
needed_megabytes=1500

say() { printf '%s\n' "$*"; }
die() {
  printf 'demo.sh: %s\n' "$*" >&2
  exit 1
}

usage() {
  cat <<'HELP'
usage: scripts/demo.sh [--minutes N]

Trains an English-Chinese translator from texts that Debian ships, and shows what it learnt.
  --minutes N   minutes of training in all (default 15); a larger number later trains on
HELP
}

wrong_usage() {
  printf 'demo.sh: %s\n' "$*" >&2
  usage >&2
  exit 2
}

minutes=15
while [[ $# -gt 0 ]]; do
  case $1 in
    --minutes)
      [[ $# -ge 2 ]] || wrong_usage "--minutes needs a number"
      minutes=$2
      shift
      ;;
    --minutes=*) minutes=${1#*=} ;;
    -h | --help)
      usage
      exit 0
      ;;
    *) wrong_usage "unknown option '$1'" ;;
  esac
  shift
done
[[ $minutes =~ ^[0-9]{1,5}(\.[0-9]+)?$ && $minutes =~ [1-9] ]] ||
  wrong_usage "--minutes is '$minutes', expected a number greater than 0"
duration="$minutes minutes"
if [[ $minutes == 1 ]]; then duration="1 minute"; fi

bold='' grey='' green='' plain=''
if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
  bold=$'\e[1m' grey=$'\e[2m' green=$'\e[32m' plain=$'\e[0m'
fi
heading() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }

# Ctrl-C and SIGTERM go to the part that is running; it saves what there is to save, and then the demo ends.
child='' stopped=no
stop() {
  stopped=yes
  if [[ -n $child ]]; then
    printf '\nStopping; what there is to save is being saved (once more: at once) ...\n' >&2
    kill -s "$1" -- "-$child" 2>/dev/null || true
  else
    leave
  fi
}

leave() {
  heading "Stopped. What is done is kept; this goes on from here:"
  say "  scripts/demo.sh --minutes $minutes"
  if [[ -e $model ]]; then
    say "The model as it is can be used:"
    say "  $zhuyi translate -m $model"
  fi
  exit 130
}

# Runs a command in a process group of its own, so that it gets each signal once.
run_part() {
  local status=0
  if [[ $stopped == yes ]]; then leave; fi
  set -m
  "$@" &
  child=$!
  set +m
  while kill -0 "$child" 2>/dev/null; do
    wait "$child" || true
  done
  wait "$child" || status=$?
  child=''
  if [[ $stopped == yes ]]; then leave; fi
  return "$status"
}

# must MESSAGE COMMAND...: runs a part, and ends the demo with a message when it fails.
must() {
  local message=$1
  shift
  run_part "$@" || die "$message"
}

announce() {
  cat <<PLAN
This trains an English-Chinese translator on this machine ($(nproc) cores), in these parts:
  1. install what is needed with apt (root or sudo)     1 to 2 minutes, 800 MB outside this folder if nothing is there
  2. build the program into build/release               3 minutes on two cores, 50 MB
  3. bring texts with apt-get download, make a corpus   1 to 3 minutes, 135 MB to download, 250 MB in demo/
  4. train                                              $duration, 500 MB in demo/run
  5. translate documents it never saw, and report       1 minute
What was done before is not done again. Ctrl-C stops at any time; running it again continues. Removing demo/ undoes it.
PLAN
}

# demo/ can be written to, there is room, and no other demo is at work in it.
check_folder() {
  mkdir -p demo 2>/dev/null || die "cannot make the folder $PWD/demo; copy the repository to a place you may write to"
  { exec 9>demo/lock; } 2>/dev/null || die "cannot write to $PWD/demo; copy the repository to a place you may write to"
  flock -n 9 || die "another demo is running in $PWD/demo"
  local free
  free=$(df --output=avail -m demo | tail -n 1)
  if [[ ! -e $model && $free -lt $needed_megabytes ]]; then
    die "$PWD has room for $free MB, $needed_megabytes MB are needed"
  fi
}

build() {
  local failed="the program could not be built (see above); remove build/release to build it anew"
  if [[ ! -e build/release/build.ninja ]]; then
    must "$failed" cmake --preset release -DZHUYI_TESTS=OFF -DZHUYI_BENCH=OFF -DZHUYI_EXAMPLES=OFF
  fi
  must "$failed" cmake --build --preset release -j "$(nproc)" --target zhuyi
}

# A run that has begun keeps its corpus: other texts would make it another training.
bring_text() {
  if [[ -e $run/checkpoint.safetensors && -e demo/corpus.tsv && -e demo/corpus.valid.tsv && -e demo/corpus.test.tsv ]]; then
    say "The corpus is there: demo/corpus.tsv (licences: demo/licences/)"
    return
  fi
  must "there is no corpus (see above)" scripts/demo_corpus.sh demo "$zhuyi"
}

# What is trained on: of the corpus the part about LibreOffice, since so short a training learns most from text like that
# of the documents held out (docs/training.md); all of it where there is no such part.
choose_text() {
  find demo/text/libreoffice-l10n-zh-cn -name '*.mo' -printf '%f\n' 2>/dev/null |
    awk -F '\t' 'FNR == NR && NF == 1 { of_office[$1] = 1; next }
      { document = $3; sub(/[:#].*/, "", document); if ($3 ~ /^text\// || document in of_office) print }' \
      - demo/corpus.tsv >demo/train.tsv
  if [[ ! -s demo/train.tsv ]]; then cp demo/corpus.tsv demo/train.tsv; fi
}

train() {
  local status=0
  if [[ -e $run/checkpoint.safetensors ]]; then
    run_part "$zhuyi" train -o "$run" --minutes "$minutes" || status=$?
  else
    choose_text
    run_part "$zhuyi" train --train demo/train.tsv --valid demo/corpus.valid.tsv -o "$run" --minutes "$minutes" \
      "${recipe[@]}" || status=$?
  fi
  if [[ $status -eq 4 ]]; then die "the training in $run cannot be continued (see above); remove $run to train anew"; fi
  if [[ $status -ne 0 ]]; then die "training failed (see above)"; fi
}

# Every sentence of the documents that were held out; at most `limit`, evenly spaced.
test_sentences() {
  local limit=$1 lines
  lines=$(wc -l <demo/corpus.test.tsv)
  awk -v every=$(((lines + limit - 1) / limit)) 'NR % every == 0' demo/corpus.test.tsv >demo/test.tsv
  cut -f 1 demo/test.tsv >demo/test.en
  cut -f 2 demo/test.tsv >demo/test.zh
}

# Numbers of ten lines, evenly spaced among those of ordinary length.
ten_lines() {
  awk 'length($0) >= 25 && length($0) <= 140 { line[++n] = NR }
    END { count = n < 10 ? n : 10; for (i = 0; i < count; i++) print line[int((i + 0.5) * n / count) + 1] }' demo/test.en
}

line_of() { sed -n "$1p" "$2"; }

report() {
  local number
  test_sentences 600
  say "Translating $(wc -l <demo/test.en) sentences from documents that were held out, evenly spaced ..."
  must "translating failed (see above)" "$zhuyi" translate -m "$model" demo/test.en -o demo/test.translated.zh
  say ""
  must "evaluating failed (see above)" "$zhuyi" evaluate demo/test.zh demo/test.translated.zh
  heading "Ten of them"
  for number in $(ten_lines); do
    printf '\n  source       %s%s%s\n' "$grey" "$(line_of "$number" demo/test.en)" "$plain"
    printf '  reference    %s\n' "$(line_of "$number" demo/test.zh)"
    printf '  translation  %s%s%s\n' "$green" "$(line_of "$number" demo/test.translated.zh)" "$plain"
  done
}

# The attention of a sentence that is short enough for a picture.
picture() {
  awk 'NF >= 6 && NF <= 14 && length($0) <= 80 { print; exit }' demo/test.en >demo/attention.en
  must "the picture failed (see above)" "$zhuyi" translate -m "$model" demo/attention.en --attention "$picture" >/dev/null
  say "Open $PWD/$picture in a browser: which source words each word of the translation looked at."
}

go_on() {
  cat <<NEXT
Train longer (from here on):    scripts/demo.sh --minutes $(awk -v m="$minutes" 'BEGIN { print 2 * m }')
  or the training alone:        $zhuyi train -o $run --minutes $(awk -v m="$minutes" 'BEGIN { print 2 * m }')
Translate a file of your own:   $zhuyi translate -m $model FILE.txt > FILE.zh.txt
Translate line by line:         $zhuyi translate -m $model
NEXT
}

trap 'stop INT' INT
trap 'stop TERM' TERM
announce
check_folder
heading "1. What is needed"
scripts/install_dependencies.sh --texts || die "not everything that is needed could be installed"
if [[ $stopped == yes ]]; then leave; fi
say "Everything is installed."
heading "2. The program"
build
heading "3. The texts"
bring_text
heading "4. Training, $duration in all"
train
heading "5. What it learnt"
report
heading "Where the translation looks"
picture
heading "Going on"
go_on
