#!/usr/bin/env bash
# Makes the archive of scripts/archive.sh again, from a copy of the sources in another folder, and compares.
#
#   reproducible.sh ARCHIVE
# Exit codes: 0 if both have the same bytes; 1 if not, with the files that differ. Takes a whole build (minutes).
set -euo pipefail
archive=$(realpath "$1")
cd "$(dirname "$0")/.."
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
copy=$place/a-folder-of-another-name/numalab
mkdir -p "$copy" "$place/out"
# Files have other times there, and no git tells anything.
if git rev-parse --git-dir >/dev/null 2>&1; then
  git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done
else
  find . -path ./target -prune -o \( -type f -o -type l \) -print0
fi | tar --null -T - -c | tar -x -m -C "$copy"
(umask 077 && LC_ALL=C.UTF-8 TZ=Asia/Tokyo "$copy/scripts/archive.sh" "$place/out")
again=$place/out/$(basename "$archive")
if cmp -s "$archive" "$again"; then
  echo "the archive has the same bytes from another folder: $(sha256sum <"$archive" | cut -c1-16)"
  exit
fi
mkdir "$place/a" "$place/b"
tar -xzf "$archive" -C "$place/a"
tar -xzf "$again" -C "$place/b"
echo "the archive differs when it is built in another folder:" >&2
diff -rq "$place/a" "$place/b" >&2 || true
diff <(tar -tvzf "$archive") <(tar -tvzf "$again") | head -20 >&2 || true
exit 1
