#!/bin/sh
# Tests the playground: the module in Node.js, then the page in headless Chromium. Without a compiler for WebAssembly, or without
# Chromium, it says so. Needs the command and the example `outcome` of the profile NUMALAB_PROFILE.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/setup.sh"

"$root/scripts/playground.sh" || {
    [ $? = 3 ] || exit 1
    echo "playground tests are skipped"
    exit 0
}
packages "$here"
cd "$here"
nice node --test --test-reporter=spec playground-module.test.mjs
find_chromium "tests of the playground's page are skipped"
exec nice node --test --test-reporter=spec playground.test.mjs
