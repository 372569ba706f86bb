#!/usr/bin/env bash
# Gives the next release its version: in Cargo.toml, Cargo.lock and the Python package, and as a section of CHANGELOG.md.
#
#   version.sh 0.25.0
set -euo pipefail
cd "$(dirname "$0")/.."
new=${1:-}
old=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
if ! [[ $new =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || [ "$new" = "$old" ]; then
  echo "version.sh: \`$new\`; expected a version other than $old, such as ${old%.*}.$((${old##*.} + 1))" >&2
  exit 2
fi
sed -i "s/^version = \"$old\"$/version = \"$new\"/; s/version = \"=$old\"/version = \"=$new\"/" Cargo.toml
sed -i "s/^__version__ = \"$old\"$/__version__ = \"$new\"/" python/numalab/__init__.py
sed -i "s/^## \[Unreleased\]$/## [Unreleased]\n\n## [$new] - $(date -u +%F)/" CHANGELOG.md
${CARGO:-cargo} update --quiet --workspace
git --no-pager diff --stat
