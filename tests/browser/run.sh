#!/bin/sh
# Tests of the HTML report: the committed bundle is what web/ gives, and the page works in headless Chromium.
# Installs what is missing: the packages of web/ and tests/browser/ with npm, Chromium with apt.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

if ! command -v "${CHROMIUM:-/usr/bin/chromium}" >/dev/null 2>&1; then
    echo "installing chromium" >&2
    apt-get install -y --no-install-recommends chromium >/dev/null
fi

# npm ci is slow and needs the network: once for each lock file.
packages() {
    stamp="$1/node_modules/.installed"
    if ! cmp -s "$1/package-lock.json" "$stamp"; then
        (cd "$1" && npm ci --silent)
        cp "$1/package-lock.json" "$stamp"
    fi
}
packages "$root/web"
packages "$here"

echo "bundle is fresh?"
(cd "$root/web" && npm run --silent check)
cd "$here"
exec nice node --test --test-reporter=spec "$@" report.test.mjs real.test.mjs
