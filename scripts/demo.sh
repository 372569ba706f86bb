#!/usr/bin/env bash
# The tour: one experiment of the catalog, its answer, its page, and what to type next. It takes some seconds.
set -euo pipefail
cd "$(dirname "$0")/.."
numalab=target/release/numalab
"$numalab" run first-steps --out out/first-steps >/dev/null
"$numalab" report out/first-steps >/dev/null
"$numalab" compare out/first-steps
cat <<END

Open out/first-steps/report.html in a browser. What to type next:
  $numalab explain out/first-steps --kernel 6.12 --seed 1 --workload random-shared --vma
      why balancing does not pay there
  $numalab machine import --host > mine.toml && $numalab run --machine mine.toml --kernel off,6.12 --workload first-touch
      the same question for this machine
  make reproduce
      a published table, simulated beside what was measured
END
