#!/usr/bin/env bash
# Machines × kernels × workloads by lot for so many minutes: every run ends or reaches its limit, keeps the invariants of the simulator
# in each second of model time, and has totals that fit (crates/sim/tests/it/sweep.rs).
#
#   soak.sh MINUTES [SEED]
#
# Each round draws ten runs by a seed that it prints; `soak.sh 0 SEED` repeats that round. What was found is in target/soak.log.
# Exit codes: 0 all rounds passed, 1 one did not.
set -euo pipefail
cd "$(dirname "$0")/.."
minutes=${1:?minutes, such as 180} seed=${2:-$RANDOM$RANDOM} log=target/soak.log
mkdir -p target
: >"$log"
until=$((SECONDS + 60 * minutes)) rounds=0 runs=0
while :; do
  code=0
  NUMALAB_SWEEP=10 NUMALAB_SWEEP_SEED=$seed NUMALAB_EMBED=none "${CARGO:-cargo}" test --quiet --profile checked -p numalab-sim --test it \
    sweep::runs_drawn -- --nocapture >target/soak.round 2>&1 || code=$?
  cat target/soak.round >>"$log"
  rounds=$((rounds + 1)) runs=$((runs + $(grep -c '^--machine' target/soak.round || true)))
  if [ "$code" != 0 ]; then
    tail -n 20 target/soak.round
    echo "soak: round $rounds, seed $seed failed after $runs runs; again: scripts/soak.sh 0 $seed"
    exit 1
  fi
  echo "soak: round $rounds, seed $seed passed; $runs runs in $((SECONDS / 60)) minutes"
  [ "$SECONDS" -lt "$until" ] || exit 0
  seed=$RANDOM$RANDOM
done
