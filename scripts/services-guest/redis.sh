# Redis with all its memory on node 0, and clients that keep its one thread busy on the last node.

main() {
  # Its memory is first touched on node 0, since it is filled by a thread that may run nowhere else.
  run "taskset $first redis-server --port 6379 --save '' --enable-debug-command yes --daemonize yes --logfile /tmp/redis.log --pidfile /tmp/redis.pid"
  for _ in $(seq 100); do redis-cli ping 2>/dev/null | grep -q PONG && break; sleep 1; done
  pid=$(cat /tmp/redis.pid) || { cat /tmp/redis.log; return 1; }
  run "redis-cli debug populate ${keys:-150000} key 200" || return 1
  before=$(redis-cli debug digest)
  # From now on it may run anywhere, and begins on the last node.
  for tid in $(ls "/proc/$pid/task"); do taskset -p "$last" "$tid" >/dev/null; done
  for tid in $(ls "/proc/$pid/task"); do taskset -p "$all" "$tid" >/dev/null; done
  taskset "$last" redis-benchmark -t get -r "${keys:-150000}" -n 1000000000 -c 8 -q >/tmp/bench.log 2>&1 &
  clients=$!
  sleep 5
  run "sysctl -w kernel.numa_balancing=0"
  run "numalab watch --once --pid $pid"
  run "numalab balance --pid $pid --every 1s --cpu 20 --for ${balance:-40s}" || return 1
  run "numalab watch --once --pid $pid"
  observe "$pid" 'redis-cli info stats | sed -n "s/^total_commands_processed:\([0-9]*\).*/\1/p"' || return 1
  kill "$clients"
  after=$(redis-cli debug digest)
  echo "checksum of the keys: $before before, $after after"
  [ -n "$before" ] && [ "$before" = "$after" ]
}
