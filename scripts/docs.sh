#!/usr/bin/env bash
# Builds the documentation site into target/site, strictly: a warning is an error. Installs mkdocs-material and nbconvert in a
# virtual environment under target/.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=(mkdocs-material==9.8.2 nbconvert==7.17.2)
venv=target/docs-python
if [ "$(cat "$venv/packages" 2>/dev/null)" != "${packages[*]}" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"
  echo "${packages[*]}" >"$venv/packages"
fi
NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" build --quiet --strict
# The home page opens with the playground. Where it cannot be built, a page says so in its place.
if scripts/playground.sh; then
  cp -r target/playground target/site/playground
elif [ $? = 3 ]; then
  mkdir -p target/site/playground
  cat >target/site/playground/index.html <<'PAGE'
<!doctype html>
<html lang="en"><meta charset="utf-8"><title>numalab playground</title>
<p>This site was built without a Rust compiler for WebAssembly, and so without the playground.
<a href="../tutorials/playground.html">How to build it</a>.</p></html>
PAGE
  echo "documentation: without the playground"
else
  exit 1
fi
echo "documentation: target/site/index.html"
