#!/bin/sh
# How the cost of training and of translating grows: microseconds a token against what it should depend on, one table each.
#
#   bench/growth.sh [train] [translate]        both by default
#
# Environment (defaults in brackets): BUILD, folder of the built program [build/release]; PRESET [small]; THREADS [all cores].
# $common is a list of words without spaces.
# shellcheck disable=SC2086
set -eu
cd "$(dirname "$0")/.."

BUILD=${BUILD:-build/release}
PRESET=${PRESET:-small}
THREADS=${THREADS:-$(nproc)}
lengths=$(mktemp)
trap 'rm -f "$lengths"' EXIT

# Sentences of one length on both sides: same_length TOKENS SENTENCES.
same_length() { awk -v n="$1" -v count="$2" 'BEGIN { for (i = 0; i < count; i++) print n, n }' >"$lengths"; }

# A number of a JSON line: field NAME LINE.
field() { printf '%s\n' "$2" | sed "s/.*\"$1\": \"\{0,1\}\([0-9.]*\).*/\1/"; }

train_row() {  # WHAT OPTION...
  what=$1
  shift
  line=$("$BUILD"/bench/bench_train --threads "$THREADS" --steps 2 --json "$@" | tail -n 1)
  awk -v what="$what" -v speed="$(field target_tokens_per_second "$line")" -v flops="$(field gflops "$line")" \
    -v peak="$(field peak_gflops "$line")" -v memory="$(field peak_rss_mb "$line")" \
    'BEGIN { printf "| %s | %.0f | %.3f | %.0f | %.0f %% | %s |\n", what, 1e6 / speed, flops / speed, flops, 100 * flops / peak, memory }'
}

translate_row() {  # WHAT OPTION...
  what=$1
  shift
  line=$("$BUILD"/bench/bench_translate --threads "$THREADS" --singles 1 --json "$@" | tail -n 1)
  awk -v what="$what" -v speed="$(field output_tokens_per_second "$line")" -v memory="$(field peak_rss_mb "$line")" \
    'BEGIN { printf "| %s | %.0f | %.0f | %s |\n", what, speed, 1e6 / speed, memory }'
}

train() {
  echo "| training, preset $PRESET | µs a target token | GFLOP a token | GFLOP/s | of the f32 peak | peak MB |"
  echo "|---|---|---|---|---|---|"
  for tokens in 512 1024 4096 16384; do train_row "batch of $tokens tokens" --preset "$PRESET" --batch-tokens "$tokens"; done
  for length in 8 32 128 512 1024; do
    same_length "$length" $((20000 / length))
    train_row "sentences of $length tokens" --preset "$PRESET" --lengths "$lengths"
  done
  for vocabulary in 4000 16000 64000; do
    train_row "$vocabulary pieces" --preset "$PRESET" --vocabulary "$vocabulary"
  done
  for preset in tiny small table3-c-n2 table3-c-d256; do train_row "preset $preset" --preset "$preset" --vocabulary 8000 --batch-tokens 2048; done
}

translate() {
  common="--preset $PRESET --precision int8"
  echo "| translating, preset $PRESET, 8 bits | output tokens/s | µs a token | peak MB |"
  echo "|---|---|---|---|"
  for batch in 1 4 16 64 256; do translate_row "batch $batch, beam 4" $common --batch "$batch"; done
  for beam in 1 4 16 64; do translate_row "beam $beam, batch 32" $common --beam "$beam" --sentences 64; done
  for length in 5 50 500 5000; do
    same_length "$length" 64
    translate_row "sources of $length tokens, batch 32" $common --lengths "$lengths" --sentences 64
  done
  for vocabulary in 4000 16000 64000; do translate_row "$vocabulary pieces" $common --vocabulary "$vocabulary"; done
  THREADS=1 translate_row "one thread" $common
}

if [ $# -eq 0 ]; then set -- train translate; fi
for task in "$@"; do
  case $task in
    train) train ;;
    translate) translate ;;
    *) echo "unknown task '$task'; expected train or translate" >&2; exit 2 ;;
  esac
  echo
done
