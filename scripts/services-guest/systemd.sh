# The unit of the balancing daemon under systemd: it starts, serves its counters, comes back after SIGKILL, and stops. Killed
# while it keeps a program's thread on a node, it leaves nothing pinned: the unit puts it back, and nothing else is touched.
exec </dev/null >/dev/console 2>&1
export PATH=/bin:/sbin:/usr/bin:/usr/sbin

# Waits until a command succeeds, for five minutes at most.
until_it() {
  for _ in $(seq 300); do
    eval "$*" && return 0
    sleep 1
  done
  echo "it has not happened: $*"
  return 1
}
answers() { wget -q -O /tmp/page http://127.0.0.1:9753/metrics; }
property() { systemctl show -P "$1" numalab-balance; }
# Counts the looks that the page tells.
looks() { answers && sed -n 's/^numalab_balance_looks_total //p' /tmp/page; }

# The CPUs that a process may run on, as a mask.
mask() { taskset -p "$1" | sed 's/.*: //'; }
state() { ls /run/private/numalab 2>/dev/null; }

# SIGKILL with changes: what the unit does after it, without a restart that would change them again.
killed_with_changes() {
  mkdir -p /run/systemd/system/numalab-balance.service.d
  printf '[Service]\nRestart=no\n' >/run/systemd/system/numalab-balance.service.d/no-restart.conf
  systemctl daemon-reload
  all=$(mask 1)
  # Its memory must stay on node 0, and its thread begins on node 1. So the daemon can only move the thread.
  fill='BEGIN { for (i = 0; i < 20000; i++) a[i] = sprintf("%1000d", i); print 1 >"/tmp/filled"; close("/tmp/filled"); while (1) for (i in a) s += 1 }'
  systemd-run --quiet --unit=target -p NUMAPolicy=bind -p NUMAMask=0 /bin/busybox taskset 4 /bin/busybox awk "$fill" || return 1
  # One that has pinned itself, to the other node than its memory.
  systemd-run --quiet --unit=own -p NUMAPolicy=bind -p NUMAMask=0 /bin/busybox taskset 8 /bin/busybox awk "${fill//filled/own}" || return 1
  until_it '[ -e /tmp/filled ] && [ -e /tmp/own ]' || return 1
  target=$(systemctl show -P MainPID target)
  own=$(systemctl show -P MainPID own)
  taskset -p "$all" "$target" >/dev/null
  echo "the program has its memory: $(grep -o ' N[0-9]=[0-9]*' "/proc/$target/numa_maps" | sort | tr '\n' ' ')"
  systemctl start numalab-balance || return 1
  until_it '[ "$(mask "$target")" != "$all" ]' || return 1
  pinned=$(mask "$target")
  echo "its thread may run on CPUs $pinned"
  pid=$(property MainPID)
  kill -9 "$pid"
  until_it '[ "$(property ActiveState)" = failed ]' || return 1
  after=$(mask "$target")
  echo "killed with changes: CPUs $all, $pinned under the daemon, $after after the unit's undo; pinned by itself $(mask "$own"); state: $(state)"
  journalctl -b -u numalab-balance --no-pager | tail -n 8
  [ "$after" = "$all" ] && [ "$(mask "$own")" = 8 ] && [ -z "$(state)" ] || return 1
  systemctl stop target own
  rm -r /run/systemd/system/numalab-balance.service.d
  systemctl daemon-reload && systemctl reset-failed
}

main() {
  echo "GUEST $(uname -r), $(systemctl --version | head -n 1)"
  sysctl -w kernel.numa_balancing=0
  # Something to look at.
  sh -c 'while :; do :; done' &
  busy=$!
  systemctl start numalab-balance || return 1
  until_it '[ "$(looks || echo 0)" -ge 2 ]' || return 1
  cat /tmp/page
  pid=$(property MainPID)
  echo "runs as user $(sed -n 's/^Uid:\t\([0-9]*\).*/\1/p' "/proc/$pid/status"), with $(grep CapEff "/proc/$pid/status")"
  # Neither root, nor more than PTRACE (19), NICE (23) and PERFMON (38).
  grep -q '^Uid:.0' "/proc/$pid/status" && return 1
  grep -q '^CapEff:.0000004000880000$' "/proc/$pid/status" || return 1
  ls -ld /run/private/numalab || return 1
  kill -9 "$pid"
  until_it '[ "$(property MainPID)" != 0 ] && [ "$(property MainPID)" != '"$pid"' ] && answers' || return 1
  [ "$(property NRestarts)" = 1 ] || return 1
  systemctl stop numalab-balance || return 1
  echo "result $(property Result), exit code $(property ExecMainStatus)"
  [ "$(property Result)" = success ] && [ "$(property ExecMainStatus)" = 0 ] || return 1
  kill "$busy"
  killed_with_changes || return 1
  # While the kernel balances it ends with 3, and is not started again.
  sysctl -w kernel.numa_balancing=1
  systemctl start numalab-balance
  sleep 15
  echo "beside the kernel's balancing: $(property ActiveState), exit code $(property ExecMainStatus), restarts $(property NRestarts)"
  [ "$(property ExecMainStatus)" = 3 ] && [ "$(property NRestarts)" = 0 ]
}
if main; then echo "RESULT systemd ok"; else echo "RESULT systemd FAILED"; journalctl -b -u numalab-balance --no-pager | tail -n 40; fi
reboot -f
