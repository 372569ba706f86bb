#!/usr/bin/env bash
# libFuzzer on every reader of numalab (crates/hostile): no panic, and no cost in CPU time or memory beyond what the input is worth.
#
#   fuzz.sh [--seconds N] [--seed S] [READER ...]    N seconds each [60], all readers
#   fuzz.sh --list                                   their names
#
# Corpora grow in target/fuzz/corpus/READER from run to run. Without --seed each run has another seed; libFuzzer's log says which. A
# finding is kept in target/fuzz/found/READER: mend the reader, and copy the input to crates/hostile/found/READER, where tests read it.
# Exit codes: 0 nothing found, 1 something was, 3 it cannot be built here.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=60 seed=$RANDOM$RANDOM
readers=() list=
while [ "$#" -gt 0 ]; do
  case $1 in
  --seconds) seconds=$2 && shift ;;
  --seed) seed=$2 && shift ;;
  --list) list=yes ;;
  -*) echo "fuzz.sh: no option $1; expected --seconds N, --seed S, --list, or names of readers" >&2 && exit 2 ;;
  *) readers+=("$1") ;;
  esac
  shift
done

# Coverage counters in our code and its dependencies; build scripts have none, since a target is named.
host=$(rustc -vV | sed -n 's/^host: //p')
flags="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3"
flags+=" -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
flags+=" -Cllvm-args=-sanitizer-coverage-trace-compares"
NUMALAB_EMBED=none RUSTFLAGS=$flags CARGO_TARGET_DIR=target/fuzz cargo build --release --manifest-path fuzz/Cargo.toml --target "$host" ||
  { echo "fuzz.sh: libFuzzer cannot be built here; it needs a C++ compiler" >&2 && exit 3; }
program=$PWD/target/fuzz/$host/release/numalab-fuzz
[ -z "$list" ] || { NUMALAB_LIST=1 exec "$program"; }
[ "${#readers[@]}" -gt 0 ] || mapfile -t readers < <(NUMALAB_LIST=1 "$program")

found=0
for reader in "${readers[@]}"; do
  corpus=target/fuzz/corpus/$reader kept=target/fuzz/found/$reader log=target/fuzz/$reader.log
  mkdir -p "$corpus" "$kept"
  # A corpus begins with the reader's own inputs.
  NUMALAB_READER=$reader NUMALAB_SEEDS=$corpus "$program" -runs=1 >/dev/null 2>&1 || { echo "fuzz.sh: no reader $reader" >&2 && exit 2; }
  code=0
  NUMALAB_READER=$reader "$program" "$corpus" -artifact_prefix="$kept/" -seed="$seed" -max_total_time="$seconds" -max_len=65536 \
    -timeout=60 -rss_limit_mb=4096 -print_final_stats=1 >"$log" 2>&1 || code=$?
  inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  echo "$reader: ${inputs:-?} inputs, seed $seed, corpus of $(ls "$corpus" | wc -l)$([ "$code" = 0 ] || echo ", FOUND something: $log")"
  [ "$code" = 0 ] || found=1
done
exit "$found"
