#!/usr/bin/env bash
# checkpatch.pl of the packaged source on every patch of linux/, that they apply to it, and their rules in user space.
#
#   scripts/linux-check.sh [TREE]
#
# TREE is an unpacked source of the series' base; the one that `numalab kernel build source:6.12` keeps if not given.
# Exit codes: 0 clean, 1 a finding, 3 there is no source, or this host lacks a tool.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
cache=${NUMALAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/numalab}
tree=${1:-$(ls -d "$cache"/kernels/linux-source-6.12_* 2>/dev/null | sort -V | tail -n 1)}
[ -n "$tree" ] && [ -f "$tree/scripts/checkpatch.pl" ] || {
  echo "linux-check: no source of 6.12; \`numalab kernel build source:6.12\` fetches it, or give a tree" >&2
  exit 3
}
for tool in perl patch; do
  command -v "$tool" >/dev/null || { echo "linux-check: $tool is missing" >&2; exit 3; }
done
# No name signs off, and no person maintains the new files.
"$tree/scripts/checkpatch.pl" --root="$tree" --no-tree --no-signoff --ignore FILE_PATH_CHANGES "$root"/linux/patches/*.patch
# Hunks have at most one line of context.
if awk '/^(diff|@@)/ { run = 0 } /^ / { if (++run > 1) { print FILENAME ": " $0; bad = 1 } } /^[+-]/ { run = 0 } END { exit !bad }' linux/patches/*.patch; then
  echo "linux-check: more than one line of context" >&2
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# What the patches touch, and nothing else, is copied.
sed -n 's|^--- a/||p' linux/patches/*.patch | sort -u | while read -r file; do
  [ -f "$tree/$file" ] && install -D "$tree/$file" "$work/$file"
done
for patch in linux/patches/*.patch; do
  (cd "$work" && patch -p1 --quiet --fuzz=0 -i "$root/$patch")
done
echo "all patches apply to $(basename "$tree")"
scripts/linux-rules.sh
