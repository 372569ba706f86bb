#!/usr/bin/env bash
# Builds the documentation site into target/site, strictly: a warning is an error. Installs mkdocs-material in a virtual
# environment under target/.
set -euo pipefail
cd "$(dirname "$0")/.."
version=9.8.2
venv=target/docs-python
if ! "$venv/bin/python" -c "import importlib.metadata as m; assert m.version('mkdocs-material') == '$version'" 2>/dev/null; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "mkdocs-material==$version"
fi
NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" build --quiet --strict
echo "documentation: target/site/index.html"
