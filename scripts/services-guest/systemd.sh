# The unit of the balancing daemon under systemd: it starts, serves its counters, comes back after SIGKILL, and stops.
exec </dev/null >/dev/console 2>&1
export PATH=/bin:/sbin:/usr/bin:/usr/sbin

# Waits until a command succeeds, for two minutes at most.
until_it() {
  for _ in $(seq 120); do
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

main() {
  echo "GUEST $(uname -r), $(systemctl --version | head -n 1)"
  sysctl -w kernel.numa_balancing=0
  # Something to look at.
  sh -c 'while :; do :; done' &
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
  # While the kernel balances it ends with 3, and is not started again.
  sysctl -w kernel.numa_balancing=1
  systemctl start numalab-balance
  sleep 15
  echo "beside the kernel's balancing: $(property ActiveState), exit code $(property ExecMainStatus), restarts $(property NRestarts)"
  [ "$(property ExecMainStatus)" = 3 ] && [ "$(property NRestarts)" = 0 ]
}
if main; then echo "RESULT systemd ok"; else echo "RESULT systemd FAILED"; journalctl -b -u numalab-balance --no-pager | tail -n 40; fi
reboot -f
