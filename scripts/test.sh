#!/usr/bin/env bash
# Everything that `make test` runs, stage by stage. Ends with a table of what each stage took, and the ten slowest tests.
#
# One build serves all stages: the profile `checked`, optimised, with assertions and overflow checks. Guests and browsers
# run beside the other tests, since both wait a lot; what they printed comes last.
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
# Stages that run beside others: name and process group of each.
declare -A groups=()

# Starts a stage beside those that follow, in a group of its own, so that all of it ends with this script.
beside() {
  set -m
  stage "$@" >"$times/$1.log" 2>&1 &
  groups[$1]=$!
  set +m
}

# Waits for a stage that runs beside others, and prints what it said.
await() {
  local code=0
  wait "${groups[$1]}" || code=$?
  unset "groups[$1]"
  echo "== $1"
  cat "$times/$1.log"
  return $code
}

end() {
  code=$?
  # If another stage failed, what these said until now may tell more.
  for name in "${!groups[@]}"; do
    kill -- "-${groups[$name]}" 2>/dev/null || true
    echo "== $name, as far as it came"
    cat "$times/$name.log"
  done
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
  beside guests scripts/vm-tests.sh
  stage unit scripts/unit-tests.sh run
  stage changes scripts/prove-changes.py
  stage instructions scripts/instructions.sh
  beside browser tests/browser/run.sh
  beside playground tests/browser/playground.sh
  stage python scripts/python-tests.sh
  await browser
  await playground
  stage site tests/browser/site.sh
  await guests
}
main
