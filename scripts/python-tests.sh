#!/usr/bin/env bash
# Builds the Python extension, then lints, type-checks and tests the package, in a virtual environment under target/.
# Arguments go to pytest; without any, the notebooks of the manual run too, with the short values that their cells name.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
# The profile whose command and extension are tested.
profile=${NUMALAB_PROFILE:-release}
export NUMALAB=${NUMALAB:-$PWD/target/$profile/numalab}
venv=target/python
# What the tests need, by version and hash. `scripts/pin-python.sh` writes the list anew.
requirements=python/requirements-tests.txt
if ! cmp -s "$requirements" "$venv/requirements"; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes --no-deps -r "$requirements"
  cp "$requirements" "$venv/requirements"
fi
# As maturin would place it. Both are built together, so that they are from one build of the crates below them.
# `make test` has built them.
[ -n "${NUMALAB_BUILT:-}" ] || $cargo build --profile "$profile" --quiet -p numalab-cli -p numalab-py
cp --remove-destination "target/$profile/lib_native.so" python/numalab/_native.abi3.so
cd python
../"$venv"/bin/ruff check .
../"$venv"/bin/ruff format --check .
../"$venv"/bin/mypy numalab tests
# The stub of the extension has the names and arguments of the extension.
../"$venv"/bin/python -m mypy.stubtest --mypy-config-file pyproject.toml numalab._native
# pyright is a program for Node.js, which its package fetches when it is first called.
if ../"$venv"/bin/pyright --version >/dev/null 2>&1; then
  ../"$venv"/bin/pyright --warnings --pythonpath ../"$venv"/bin/python
else
  echo "pyright cannot be installed here, so types are checked by mypy alone"
fi
[ $# -gt 0 ] || set -- --nbmake tests ../docs/notebooks
PYTHONPATH=$PWD ../"$venv"/bin/pytest -q "$@"
