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
# Process 1 becomes systemd, on a file system from which namespaces can be made.
if [ "$service" = systemd ]; then
  mkdir /whole && mount -t tmpfs -o size=2000M tmpfs /whole
  for part in bin etc lib lib64 root sbin srv usr var *.sh; do [ -e "/$part" ] && cp -a "/$part" /whole/; done
  mkdir -p /whole/dev /whole/proc /whole/sys /whole/run /whole/tmp /whole/usr/local/bin /whole/etc/systemd/system
  mv /whole/bin/numalab /whole/usr/local/bin/numalab
  cp /whole/srv/*.service /whole/etc/systemd/system/
  # With an identity this is no first boot, which would ask questions.
  echo 0123456789abcdef0123456789abcdef >/whole/etc/machine-id
  umount /dev/shm /tmp /run
  exec switch_root -c /dev/console /whole /lib/systemd/systemd --unit=check.service
fi
nodes=$(ls /sys/devices/system/node | grep -c '^node[0-9]')
echo "GUEST $(uname -r), $nodes nodes, balancing $(cat /proc/sys/kernel/numa_balancing)"
# CPU masks of two CPUs a node: those of the first and of the last node, and all.
first=3
last=$(printf %x $((3 << (2 * (nodes - 1)))))
all=$(printf %x $(((1 << (2 * nodes)) - 1)))
set -o pipefail
# The host asks `numalab counters` for each of them.
echo "VMSTAT $(cut -d ' ' -f 1 /proc/vmstat | tr '\n' ' ')"
# Each step is shown as it would be typed.
run() {
  echo "$ $*"
  eval "$*"
}
# What `watch`, `record` and `advise` say of a running service; $1 is its process, $2 a command that prints its counter.
observe() {
  run "sysctl -w kernel.numa_balancing=1"
  run "numalab watch --once --pid $1" || return 1
  # Every node has its row.
  numalab watch --once --json --pid "$1" >/tmp/watch.json || return 1
  [ "$(grep -c '"total_bytes"' /tmp/watch.json)" = "$nodes" ] || { cat /tmp/watch.json; return 1; }
  run "numalab record --pid $1 --for ${record:-10s} --out /tmp/recorded" || return 1
  run "numalab compare /tmp/recorded --full" || return 1
  run "numalab advise --pid $1 --counter --window ${window:-8s} --settle ${settle:-3s} --budget ${budget:-3m} --metric-cmd '$2'" || return 1
  [ "$(cat /proc/sys/kernel/numa_balancing)" = 1 ] || { echo "advise has not put the switch back"; return 1; }
}
. "/$service.sh"
if main; then echo "RESULT $service ok"; else echo "RESULT $service FAILED"; fi
reboot -f
