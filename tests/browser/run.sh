#!/bin/sh
# Tests the HTML report: the committed bundle must be what web/ builds, and the page must work in headless Chromium.
# Needs Node.js with npm. Installs the packages of web/ and tests/browser/ with npm, and Chromium if apt-get works without
# asking. Without Chromium the script says why the page is not tested. CHROMIUM names another browser.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

if ! command -v node >/dev/null 2>&1 || ! command -v npm >/dev/null 2>&1; then
    echo "the page's tests need Node.js with npm (Debian: apt-get install nodejs npm)" >&2
    exit 1
fi

# Installs the packages of a folder, once for each version of its lock file, since npm ci is slow and needs the network.
packages() {
    stamp="$1/node_modules/.installed"
    if ! cmp -s "$1/package-lock.json" "$stamp"; then
        (cd "$1" && npm ci --silent)
        cp "$1/package-lock.json" "$stamp"
    fi
}
packages "$root/web"
echo "bundle is fresh?"
(cd "$root/web" && npm run --silent check)

# Prints the path of Chromium, or nothing if there is none.
browser() {
    for name in chromium chromium-browser google-chrome; do
        command -v "$name" && return
    done
    true
}

if [ -n "${CHROMIUM:-}" ]; then
    CHROMIUM=$(command -v "$CHROMIUM") || {
        echo "CHROMIUM names no program" >&2
        exit 1
    }
elif [ -z "$(browser)" ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing chromium" >&2
    as_root=""
    [ "$(id -u)" = 0 ] || as_root="sudo -n"
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -q --no-install-recommends chromium >/dev/null || true
fi
CHROMIUM=${CHROMIUM:-$(browser)}
if [ -z "$CHROMIUM" ]; then
    echo "page tests are skipped: there is no Chromium and it cannot be installed here; name one, e.g. CHROMIUM=/opt/chrome/chrome" >&2
    exit 0
fi
export CHROMIUM

packages "$here"
cd "$here"
exec nice node --test --test-reporter=spec "$@" report.test.mjs wide.test.mjs real.test.mjs
