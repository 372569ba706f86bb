#!/usr/bin/env bash
# Boots a kernel with the series of linux/ in QEMU and tries every knob: linux/tests/guest.c. KUnit tests in it run too.
# With `effects` it shows what knobs change: linux/tests/effects.c, two minutes.
#
#   scripts/linux-guest.sh [effects] VMLINUX [BOOT-OPTION…]
#
# VMLINUX is what `numalab kernel build` names. Options are as `numalab.vma_filter=rfc_v3`.
# Exit codes: 0 all is well or the kernel has no knobs (it says so), 1 a check failed, 2 wrong words, 3 this host lacks something.
set -euo pipefail
cd "$(dirname "$0")/.."
program=guest
[ "${1:-}" = effects ] && { program=effects; shift; }
[ $# -ge 1 ] && [ -f "$1" ] || { echo "usage: scripts/linux-guest.sh [effects] VMLINUX [BOOT-OPTION…]" >&2; exit 2; }
for tool in qemu-system-x86_64 cpio "${CC:-cc}" python3; do
  command -v "$tool" >/dev/null || { echo "linux-guest: $tool is missing" >&2; exit 3; }
done
image=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/root/proc" "$work/root/sys" "$work/root/dev"
"${CC:-cc}" -O2 -Wall -static -o "$work/root/init" linux/tests/$program.c
python3 scripts/linux-knobs.py >"$work/root/knobs"
(cd "$work/root" && find . | cpio -o -H newc --quiet) >"$work/initrd"
# Two nodes of two CPUs, a cache for each.
timeout 600 qemu-system-x86_64 -accel tcg -M q35 -cpu max -smp 4,sockets=2,cores=2 -m 512 -nographic -no-reboot \
  -object memory-backend-ram,id=m0,size=256M -object memory-backend-ram,id=m1,size=256M \
  -numa node,nodeid=0,memdev=m0,cpus=0-1 -numa node,nodeid=1,memdev=m1,cpus=2-3 -numa dist,src=0,dst=1,val=21 \
  -kernel "$image" -initrd "$work/initrd" \
  -append "console=ttyS0 panic=-1 rdinit=/init loglevel=7 $*" </dev/null | tr -d '\r' >"$work/console" || true
# Lines of KUnit have a time where the kernel prints times.
sed -i 's/^\[ *[0-9.]*\] //' "$work/console"
grep -a 'numalab-guest\|cpu[0-9]* domain\|^ *ok [0-9]\|^ *not ok\|Kernel panic\|WARNING:\|BUG:\|Unknown kernel' "$work/console" || true
grep -aq 'numalab-guest: this kernel has no knobs' "$work/console" && exit 0
grep -aq 'numalab-guest: [0-9]* checks, 0 failures' "$work/console" || { echo "linux-guest: no good end; the last lines:" >&2; tail -20 "$work/console" >&2; exit 1; }
if grep -aq '^ *not ok\|WARNING:\|BUG:' "$work/console"; then exit 1; fi
