#!/bin/sh
# Tests the HTML report: the committed bundle must be what web/ builds, and the page must work in headless Chromium.
# Needs Node.js with npm. Installs the packages of web/ and tests/browser/ with npm, and Chromium if apt-get works without
# asking. Without Chromium the script says why the page is not tested. CHROMIUM names another browser.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/setup.sh"

packages "$root/web"
echo "bundle is fresh?"
(cd "$root/web" && npm run --silent check)
find_chromium "page tests are skipped"

packages "$here"
cd "$here"
exec nice node --test --test-reporter=spec "$@" report.test.mjs wide.test.mjs real.test.mjs pictures.test.mjs
