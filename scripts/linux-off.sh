#!/usr/bin/env bash
# That the patches of linux/ leave the code as it was without CONFIG_NUMALAB: the machine code of every object whose
# source they touch, built from a tree with them and from one without.
#
#   scripts/linux-off.sh PLAIN PATCHED
#
# Both are build directories of the same configuration, without CONFIG_NUMALAB.
# Exit codes: 0 the same code, 1 other code, 2 wrong words.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -eq 2 ] && [ -f "$1/.config" ] && [ -f "$2/.config" ] || { echo "usage: scripts/linux-off.sh PLAIN PATCHED" >&2; exit 2; }
if grep -q '^CONFIG_NUMALAB=y' "$1/.config" "$2/.config"; then
  echo "linux-off: one of them has CONFIG_NUMALAB=y" >&2
  exit 2
fi
# Lines of a file move, so numbers of lines in warnings differ. They are immediate operands of no instruction on x86.
code() { objdump -d --no-show-raw-insn "$1" | sed '1,3d'; }
bad=0
for source in $(sed -n 's|^--- a/\(.*\.c\)$|\1|p' linux/patches/*.patch | sed 's|kernel/sched/topology.c|kernel/sched/build_utility.c|' | sort -u); do
  object=${source%.c}.o
  [ -f "$1/$object" ] || continue
  if [ "$(code "$1/$object" | sha256sum)" = "$(code "$2/$object" | sha256sum)" ]; then
    echo "$object: the same"
  else
    echo "$object: other code"
    bad=1
  fi
done
exit $bad
