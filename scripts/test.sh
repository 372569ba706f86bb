#!/usr/bin/env bash
# Everything that `make test` runs, stage by stage. Ends with a table of what each stage took, and the ten slowest tests.
#
# One build serves all stages: the profile `checked`, optimised, with assertions and overflow checks. Guests run beside
# the other tests, and what they printed comes last.
set -euo pipefail
cd "$(dirname "$0")/.."
export NUMALAB_PROFILE=checked
export NUMALAB=$PWD/target/checked/numalab
export NUMALAB_HTML_DEMO=$PWD/target/checked/examples/html_demo
times=target/test-times
mkdir -p "$times"
rm -f "$times"/*

# Runs a stage and notes its seconds, with what the tools call success.
stage() {
  local name=$1 began=$SECONDS code=0
  shift
  echo "== $name"
  "$@" || code=$?
  printf '%s\t%s\t%s\n' "$name" $((SECONDS - began)) "$([ $code = 0 ] && echo ok || echo "failed ($code)")" >>"$times/stages"
  return $code
}

table() {
  echo
  echo "stage                seconds"
  awk -F '\t' '{ printf "%-20s %7d  %s\n", $1, $2, $3 }' "$times/stages" || true
  printf '%-20s %7d\n' "in all" "$SECONDS"
  if compgen -G "$times/tests-*" >/dev/null; then
    echo
    echo "slowest tests        seconds"
    sort -t "$(printf '\t')" -k 1,1 -rn "$times"/tests-* | head -n 10 | awk -F '\t' '{ printf "%-70s %7.1f\n", $2, $1 }' || true
  fi
}
guests=
end() {
  code=$?
  if [ -n "$guests" ]; then
    # Another stage failed: what the guests said until now may tell more.
    kill -- "-$guests" 2>/dev/null || true
    echo "== guests, as far as they came"
    cat "$times/guests.log"
  fi
  table
  exit $code
}
trap end EXIT

# A function, which is read as a whole before it runs: the script may change meanwhile.
main() {
  # Programs that tests call are installed first, since two stages cannot install at once.
  stage setup scripts/unit-tests.sh setup
  stage lint make --no-print-directory lint
  stage build scripts/unit-tests.sh build
  export NUMALAB_BUILT=yes
  # A group of its own, so that all of it ends with this script.
  set -m
  stage guests scripts/vm-tests.sh >"$times/guests.log" 2>&1 &
  guests=$!
  set +m
  stage unit scripts/unit-tests.sh run
  stage changes scripts/prove-changes.py
  stage instructions scripts/instructions.sh
  stage python scripts/python-tests.sh
  stage browser tests/browser/run.sh
  echo "== guests"
  code=0
  wait "$guests" || code=$?
  guests=
  cat "$times/guests.log"
  [ $code = 0 ]
}
main
