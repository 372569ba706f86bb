#!/bin/busybox sh
# Process 1 of the guest: runs the script of the service that the kernel's command line names, and ends the guest.
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs devtmpfs /dev
/bin/busybox mkdir -p /dev/shm
/bin/busybox mount -t tmpfs tmpfs /dev/shm
/bin/busybox mount -t tmpfs tmpfs /tmp
/bin/busybox mount -t tmpfs tmpfs /run
/bin/busybox --install -s /bin
exec </dev/null >/dev/console 2>&1
export PATH=/bin:/sbin:/usr/bin:/usr/sbin HOME=/root TZ=UTC COLUMNS=120 NO_COLOR=1 TERM=dumb
mount -t tracefs tracefs /sys/kernel/tracing
ip link set lo up
echo "GUEST $(uname -r), balancing $(cat /proc/sys/kernel/numa_balancing)"
set -o pipefail
# Each step is shown as it would be typed.
run() {
  echo "$ $*"
  eval "$*"
}
. "/$service.sh"
if main; then echo "RESULT $service ok"; else echo "RESULT $service FAILED"; fi
reboot -f
