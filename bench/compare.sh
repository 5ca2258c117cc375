#!/bin/sh
# Speed of Zhuyi beside PyTorch (training) and CTranslate2 (translation), interleaved on this machine, with ratios.
#
#   bench/compare.sh [train] [translate]        both by default
#   MODEL=model.safetensors TEXT=lines.txt bench/compare.sh text    a trained model (f32) over real text, in both programs
#
# Environment (defaults in brackets):
#   BUILD    folder of the built program [build/release]       PYTHON   a Python with bench/peers/requirements.txt; one is
#   PRESETS  model sizes [small base]                                   made in build/peers-venv when unset
#   ROUNDS   A B A B ... [3]                                   LENGTHS  sentence lengths [bench/lengths.txt]
#   THREADS  [all cores]                                       OUT      the results, a JSON object a line [a temporary file]
#   ISA=avx2: all programs without AVX-512 and AVX-VNNI [what each finds best]
#   SHORTLIST=1: translate with lexical shortlists on both sides        BEAM: of text [4]
#   STEPS_small, STEPS_base, STEPS_big: timed training steps of each run [6, 2, 1]
# $work and $TASKS are lists of words without spaces.
# shellcheck disable=SC2086
set -eu
cd "$(dirname "$0")/.."

BUILD=${BUILD:-build/release}
PRESETS=${PRESETS:-small base}
ROUNDS=${ROUNDS:-3}
THREADS=${THREADS:-$(nproc)}
LENGTHS=${LENGTHS:-bench/lengths.txt}
OUT=${OUT:-$(mktemp --suffix=.jsonl)}
TASKS=${*:-train translate}
case ${ISA:-} in
  '') ;;
  avx2)
    export ZHUYI_KERNELS=avx2
    export CT2_FORCE_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 MKL_ENABLE_INSTRUCTIONS=AVX2
    ;;
  *) echo "ISA is '$ISA'; expected avx2, or nothing" >&2; exit 2 ;;
esac
# Precisions that the instructions have arithmetic for.
TRAIN_PRECISIONS=f32
TRANSLATE_PRECISIONS="f32 int8"
if [ -z "${ISA:-}" ] && grep -q -w avx512_bf16 /proc/cpuinfo; then
  TRAIN_PRECISIONS="f32 bf16"
  TRANSLATE_PRECISIONS="f32 bf16 int8"
fi

find_program() {  # prints the path of a benchmark of the build folder, nothing when it is not built
  for path in "$BUILD/bench/$1" "$BUILD/$1" "$BUILD/bin/$1"; do
    if [ -x "$path" ]; then echo "$path"; return; fi
  done
}

if [ -z "${PYTHON:-}" ]; then
  PYTHON=build/peers-venv/bin/python
  if [ ! -x "$PYTHON" ]; then
    python3 -m venv build/peers-venv
    "$PYTHON" -m pip install --quiet --requirement bench/peers/requirements.txt
  fi
fi

steps() {
  case $1 in
    small) echo "${STEPS_small:-6}" ;;
    base) echo "${STEPS_base:-2}" ;;
    *) echo "${STEPS_big:-1}" ;;
  esac
}

record() {  # runs a command that prints one JSON object, keeps it and shows it
  line=$("$@") || { echo "failed: $*" >&2; return 1; }
  # What the object itself says comes later, and so wins.
  line=$(printf '%s\n' "$line" | tail -n 1 | sed "s/^{/{\"program\": \"zhuyi\", \"preset\": \"$preset\", \"precision\": \"f32\", /")
  printf '%s\n' "$line" >>"$OUT"
  printf '%s  %s\n' "$(date +%H:%M:%S)" "$line"
}

: >"$OUT"
echo "CPU: $(lscpu | sed -n 's/^Model name: *//p'), $THREADS threads; load before: $(cut -d' ' -f1-3 /proc/loadavg)"
lscpu | tr ' ' '\n' | grep -E '^(avx2|avx512f|avx512_vnni|avx512_bf16|amx_bf16|amx_int8)$' | tr '\n' ' '
echo
BENCH_OPS=$(find_program bench_ops)
BENCH_TRAIN=$(find_program bench_train)
BENCH_TRANSLATE=$(find_program bench_translate)
# Which instructions each program says that it runs. CTranslate2 leaves products to oneDNN or MKL, PyTorch to both.
if [ -n "$BENCH_OPS" ]; then
  # A name that no row has: only the heading, which holds the peak of multiply-adds in registers.
  echo "Zhuyi: $("$BENCH_OPS" --threads "$THREADS" --only 'no such row' | head -n 1)"
fi
case " $TASKS " in *' train '*)
  echo "PyTorch: $("$PYTHON" -c 'import torch; print(torch.backends.cpu.get_cpu_capability())')" ;;
esac
case " $TASKS " in *' translate '* | *' text '*)
  CT2_VERBOSE=1 ONEDNN_VERBOSE=1 "$PYTHON" bench/peers/ct2_translate.py --sentences 1 --singles 1 2>&1 |
    sed -n 's/.*\(Selected ISA:\|SGEMM backend:\|GEMM_S8 backend:\|info,cpu,isa:\)/CTranslate2: \1/p' ;;
esac
for program in "$BENCH_TRAIN" "$BENCH_TRANSLATE"; do
  [ -n "$program" ] || [ "$TASKS" = text ] || echo "note: bench_train or bench_translate is not in $BUILD; measuring the peer alone" >&2
done

ZHUYI=$(find_program zhuyi)
text_round() {  # one round over $TEXT
  preset=$(basename "$TEXT")
  work="--model $MODEL --text $TEXT --threads $THREADS --beam ${BEAM:-4} --json"
  for precision in $TRANSLATE_PRECISIONS; do
    record "$PYTHON" bench/peers/translate_text.py zhuyi $work --zhuyi "$ZHUYI" --precision "$precision" --output "$ours"
    [ "$precision" != bf16 ] || continue
    for workers in $(printf '1\n%s\n' "$THREADS" | uniq); do
      record "$PYTHON" bench/peers/translate_text.py ctranslate2 $work --precision "$precision" --workers "$workers" --output "$theirs"
    done
    echo "lines whose translation is the same, $precision:" \
      "$(awk 'NR == FNR { line[FNR] = $0; next } line[FNR] == $0 { same++ } END { print same + 0 " of " FNR }' "$ours" "$theirs")"
  done
}
if [ "$TASKS" = text ]; then
  ours=$(mktemp)
  theirs=$(mktemp)
  for _ in $(seq "$ROUNDS"); do text_round; done
  rm "$ours" "$theirs"
  PRESETS=
fi

for preset in $PRESETS; do
  round=1
  while [ "$round" -le "$ROUNDS" ]; do
    for task in $TASKS; do
      common="--preset $preset --lengths $LENGTHS --threads $THREADS --json"
      case $task in
        train)
          work="$common --batch-tokens 4096 --steps $(steps "$preset")"
          for precision in $TRAIN_PRECISIONS; do
            [ -z "$BENCH_TRAIN" ] || record "$BENCH_TRAIN" $work --precision "$precision"
            # Where the CPU has no bf16 arithmetic, PyTorch's autocast is 20 times slower than its f32.
            [ "$precision" = f32 ] && flag= || flag=--bf16
            record "$PYTHON" bench/peers/torch_train.py $work $flag
          done
          ;;
        translate)
          work="$common --beam 4 --batch 32 --output-length 16"
          if [ -n "${SHORTLIST:-}" ]; then
            lists=$(mktemp --suffix=.vmap)
            [ "$preset" = base ] && pieces=32000 || pieces=8000
            "$PYTHON" bench/peers/make_shortlist.py "$lists" --vocabulary "$pieces"
            work="$work --shortlist $lists"
          fi
          for precision in $TRANSLATE_PRECISIONS; do
            [ -z "$BENCH_TRANSLATE" ] || record "$BENCH_TRANSLATE" $work --precision "$precision"
          done
          for compute in int8 float32; do
            # One batch on all cores, and a batch for each core: the better of the two is CTranslate2's figure.
            record "$PYTHON" bench/peers/ct2_translate.py $work --compute "$compute" --workers 1
            [ "$THREADS" -le 1 ] || record "$PYTHON" bench/peers/ct2_translate.py $work --compute "$compute" --workers "$THREADS"
          done
          ;;
        *) echo "unknown task '$task'; expected train or translate" >&2; exit 2 ;;
      esac
    done
    round=$((round + 1))
  done
done

echo
"$PYTHON" bench/peers/summary.py "$OUT"
echo "load after: $(cut -d' ' -f1-3 /proc/loadavg); all results: $OUT"
