#!/usr/bin/env bash
# Runs one test program for cargo, and notes the seconds of each test in target/test-times/tests-PROGRAM.
# The harness of the standard library tells times only under this switch, which changes nothing else.
set -uo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
program=$1
shift
if ! "$program" --list >/dev/null 2>&1 || ! RUSTC_BOOTSTRAP=1 "$program" -Zunstable-options --report-time --list >/dev/null 2>&1; then
  # A program with a main function of its own.
  exec "$program" "$@"
fi
RUSTC_BOOTSTRAP=1 "$program" -Zunstable-options --report-time "$@" |
  tee >(sed -nE 's/^test (.*) \.\.\. (ok|FAILED) <([0-9.]+)s>$/\3\t\1/p' >"$root/target/test-times/tests-$(basename "$program")")
exit "${PIPESTATUS[0]}"
