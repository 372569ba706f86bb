#!/bin/sh
# Makes the pictures of docs/images anew, from a run of the catalog's experiment first-steps. Needs what run.sh needs, and the
# command, which NUMALAB names if it is not the release build.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/setup.sh"

find_chromium "no pictures are made"
packages "$here"
numalab=${NUMALAB:-$root/target/${NUMALAB_PROFILE:-release}/numalab}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$numalab" run first-steps --out "$dir/first-steps" >"$dir/out"
"$numalab" report "$dir/first-steps" --out "$dir/report.html"
(cd "$here" && node shots.mjs "$dir/report.html" "$root/docs/images")
if "$root/scripts/playground.sh"; then (cd "$here" && node playground-shots.mjs "$root/docs/images"); fi
ls -l "$root/docs/images"
