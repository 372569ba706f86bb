#!/usr/bin/env bash
# Runs a numalab command by itself: a copy of it, in an empty folder, with no environment, no search path and no home. Checks
# that it simulates, that it measures this machine with the worker it carries, and what it says of itself.
#
#   alone.sh COMMAND
set -euo pipefail
command=$1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cp "$command" "$place/numalab"
cd "$place"
# Settings of this machine stay as they are: without root nothing can be set.
as=()
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  chown 65534:65534 "$place"
  as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
fi

fail() {
  echo "$command by itself: $1" >&2
  exit 1
}

alone() {
  "${as[@]}" env -i ./numalab "$@"
}

cat >short.toml <<'END'
name = "short"
title = "Two threads sweep a buffer that one of them filled"
about = "To try a command."
source = "written for this test"
limit = "30s"
[[process]]
name = "main"
threads = 2
initial = "joins"
[[process.region]]
name = "buffer"
size = "4MiB"
[[process.prologue]]
name = "fill"
access = "buffer"
write = 1
cost = "1ns"
[[process.phase]]
name = "sweep"
count = 10
access = "buffer"
slice = "thread"
write = 1
cost = "1ns"
END
alone run --machine 2x1x2x1 --kernel off,6.12 --workload short.toml --out sim --quiet >/dev/null || fail "simulating ended with $?"
alone compare sim --json >sim.json || fail "comparing ended with $?"
grep -q '"name": "elapsed"' sim.json || fail "the simulation has no figures"
alone report sim --out page.html >/dev/null || fail "the page ended with $?"
grep -q "</html>" page.html || fail "the page is cut"
alone machine import --host >mine.toml || fail "describing this machine ended with $?"
alone run --backend host --machine mine.toml --kernel host --workload short.toml --out host --json >host.json ||
  fail "measuring this machine ended with $?: $(cat host.json)"
grep -q '"kernel": "host"' host.json || fail "no kernel was measured"
# Guests need QEMU, which may be missing (3). Their worker is there.
code=0
alone doctor --json >doctor.json || code=$?
[ "$code" = 0 ] || [ "$code" = 3 ] || fail "doctor ended with $code"
tr -d ' \n' <doctor.json | grep -q '"name":"worker","verdict":"good","found":"builtin' || fail "it carries no worker"
echo "$command runs by itself"
