#!/bin/sh
# Builds the documentation site and tests it: links, what axe finds, search, the playground on its home page. Arguments go to
# site.mjs. Needs Python 3 with venv and Node.js with npm; without Chromium it says so, and tests the links alone.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/setup.sh"

"$root/scripts/docs.sh"
packages "$here"
cd "$here"
nice node --test --test-reporter=spec links.test.mjs
find_chromium "pages of the site are not looked at"
exec nice node site.mjs "$@"
