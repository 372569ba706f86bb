# A node whose memory is taken away, and CPUs that go offline, while `numalab watch`, `record` and `balance` look.
#
# The last node has no CPUs, and its memory is a module that may be pulled. Its blocks are offlined and the module is ejected,
# as an administrator would, so the node leaves the list of those that are online. CPUs of the node before go offline.

sys=/sys/devices/system
# Puts the CPUs of a node on or off.
cpus_of() { for cpu in $2; do echo "$1" >"$sys/cpu/cpu$cpu/online" || return 1; done; }
# Whether a node is online.
online() { [ -d "$sys/node/node$1" ] && [ "$(numalab_nodes | grep -c "^$1\$")" = 1 ]; }
numalab_nodes() { tr ',' '\n' <"$sys/node/online" | while IFS=- read -r a b; do seq "$a" "${b:-$a}"; done; }
pages_on() { grep -o " N$2=[0-9]*" "/proc/$1/numa_maps" | cut -d = -f 2 | awk '{ s += $1 } END { print s + 0 }'; }

main() {
  gone=$((nodes - 1))
  with_cpus=$((nodes - 2))
  # With two nodes of CPUs one of them keeps a CPU, since `balance` ends where one node is left.
  cpus="$((2 * with_cpus + 1))"
  [ "$with_cpus" -lt 2 ] || cpus="$((2 * with_cpus)) $cpus"
  all=$(taskset -p 1 | sed 's/.*: //')
  echo "nodes $(cat $sys/node/online); node $gone: $(sed -n 's/.*MemTotal: *//p' "$sys/node/node$gone/meminfo"), CPUs $(cat "$sys/node/node$gone/cpulist")"
  online "$gone" || return 1
  sysctl -w kernel.numa_balancing=0
  # A program whose memory is on that node, and which looks at it all the while.
  mkdir -p /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup
  echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control || return 1
  mkdir /sys/fs/cgroup/there && echo "$gone" >/sys/fs/cgroup/there/cpuset.mems || return 1
  # It says if it reads anything else than it wrote, and ends when it is told to.
  reads='BEGIN {
    for (i = 0; i < 60000; i++) a[i] = i
    print 1 >"/tmp/filled"; close("/tmp/filled")
    while (1) {
      for (i = 0; i < 60000; i++) if (a[i] != i) { print "WRONG MEMORY"; exit 9 }
      if ((getline line <"/tmp/end") > 0) exit 0
      close("/tmp/end")
    }
  }'
  READS=$reads sh -c 'echo $$ >/sys/fs/cgroup/there/cgroup.procs; exec awk "$READS"' &
  target=$!
  for _ in $(seq 120); do [ -e /tmp/filled ] && break; sleep 1; done
  echo "$target" >/sys/fs/cgroup/cgroup.procs
  before=$(pages_on "$target" "$gone")
  echo "its pages on node $gone: $before"
  [ "$before" -gt 500 ] || return 1

  numalab watch --once --json --every "${look:-70s}" >/tmp/watch.json 2>/tmp/watch.err &
  watch=$!
  numalab record --pid "$target" --every 5s --for "${record:-90s}" --out /tmp/recorded >/tmp/record.out 2>&1 &
  record_pid=$!
  numalab balance --all --every 1s --cpu 20 --metrics 9753 >/tmp/balance.out 2>&1 &
  balance_pid=$!
  sleep "${settle:-30}"

  cpus_of 0 "$cpus" || return 1
  for block in "$sys/node/node$gone"/memory[0-9]*; do
    echo offline >"$block/state" || { cat "$block/state" "$block/valid_zones"; return 1; }
  done
  echo "memory of node $gone: $(sed -n 's/.*MemTotal: *//p' "$sys/node/node$gone/meminfo"), nodes with memory $(cat $sys/node/has_memory)"
  for module in /sys/bus/acpi/devices/PNP0C80:*; do echo 1 >"$module/eject"; done
  for _ in $(seq 60); do online "$gone" || break; sleep 1; done
  echo "nodes $(cat $sys/node/online), CPUs $(cat $sys/cpu/online)"
  online "$gone" && return 1
  sleep "${settle:-20}"
  wget -q -O /tmp/page http://127.0.0.1:9753/metrics || { cat /tmp/balance.out; return 1; }
  cpus_of 1 "$cpus" || return 1
  sleep "${settle:-20}"

  wait "$watch"; watched=$?
  wait "$record_pid"; recorded=$?
  kill -TERM "$balance_pid"
  wait "$balance_pid"; balanced=$?
  echo "ended with: watch $watched, record $recorded, balance $balanced"
  cat /tmp/watch.err /tmp/record.out
  tail -n 30 /tmp/balance.out
  grep '"node"\|total_bytes' /tmp/watch.json | head -n 20
  run "numalab compare /tmp/recorded --full"
  compared=$?
  [ "$watched$recorded$balanced$compared" = 0000 ] || return 1
  # It has seen that nodes went and CPUs came back.
  [ "$(grep -c 'offline or came online' /tmp/balance.out)" -ge 2 ] || return 1
  # The recording has the program's pages on the node that went, and none there at the end. A sample may take only so much
  # time, so a host that is very busy may not have read them before: it says so, and has no column.
  pages=$(ls /tmp/recorded/*/series/node_pages.csv)
  head -n 2 "$pages"; tail -n 1 "$pages"
  column=$(head -n 1 "$pages" | tr ',' '\n' | grep -n "/node$gone\$" | cut -d : -f 1)
  if [ -n "$column" ]; then
    most=$(sed 1d "$pages" | cut -d , -f "$column" | sort -n | tail -n 1)
    last=$(tail -n 1 "$pages" | cut -d , -f "$column")
    echo "pages on node $gone in the recording: at most $most, at the end $last"
    [ "$most" -gt 500 ] && [ "$last" = 0 ] || return 1
  else
    echo "the recording had not read the pages on node $gone before it went"
  fi
  # No thread of the program is left where balance put it, and what it reads is right.
  for tid in $(ls "/proc/$target/task"); do taskset -p "$tid" | grep -q ": $all\$" || { echo "a thread stays pinned"; return 1; }; done
  echo 1 >/tmp/end
  wait "$target" || { echo "the program ended with $?"; return 1; }
}
