#!/usr/bin/env bash
# Writes python/requirements-tests.txt from requirements-tests.in: the newest versions that go together, each with the hashes of its files.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=target/pin-python
[ -x "$venv/bin/pip-compile" ] || { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check "pip-tools>=7,<8"; }
cd python
"../$venv/bin/pip-compile" --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras --no-emit-index-url --no-emit-trusted-host \
  --no-emit-find-links --no-header --no-annotate --output-file requirements-tests.txt requirements-tests.in
