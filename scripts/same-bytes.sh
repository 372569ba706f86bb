#!/usr/bin/env bash
# Builds of one state of the sources must give the same records, whatever the compiler made of them.
#
#   same-bytes.sh COMMAND COMMAND…
# runs short experiments with each and compares all files with those of the first. Exit codes: 0, or 1 with what differs.
# `make fidelity` gives it the profiles release, checked (assertions, overflow checks) and dev (no optimisation).
set -euo pipefail
[ $# -ge 2 ] || { echo "same-bytes.sh: $# commands; expected two or more" >&2 && exit 2; }
commands=()
for command in "$@"; do commands+=("$(realpath "$command")"); done
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
number=0
for command in "${commands[@]}"; do
  mkdir "$place/$number"
  (
    cd "$place/$number"
    # Faults of random accesses, migration and reclaim; grains; the scheduler alone.
    "$command" -q run --machine 2x1x2x1 --kernel off,3.8,6.12 --workload numa02 --param loops=1 --explain --out a >/dev/null
    "$command" -q run --machine 4x1x2x1 --kernel 6.12 --workload buffer-pool --param pool=2GiB --param duration=1s --out b >/dev/null
    "$command" -q run --machine 2x2x2x2 --kernel 6.3,6.12 --workload first-touch --param duration=500ms --trace --out c >/dev/null
  )
  if ! diff -r "$place/0" "$place/$number" >"$place/diff"; then
    echo "same-bytes.sh: ${commands[$number]} gives other bytes than ${commands[0]}:" >&2
    head -c 2000 "$place/diff" >&2
    exit 1
  fi
  number=$((number + 1))
done
echo "$number builds gave the same $(find "$place/0" -type f | wc -l) files"
