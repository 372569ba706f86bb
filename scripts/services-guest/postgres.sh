# PostgreSQL with pgbench's table, its clients reading all the while.

# A checksum of every row.
digest() {
  psql -h /tmp -U postgres -At -c 'select sum(hashtext(a::text)) from pgbench_accounts a'
}

main() {
  bin=$(echo /usr/lib/postgresql/*/bin)
  export PATH="$bin:$PATH"
  mkdir -p /srv/pg && chown postgres:postgres /srv/pg
  run "su postgres -c '$bin/initdb -D /srv/pg --no-sync --locale=C -E UTF8 -A trust' | tail -n 1" || return 1
  cat >>/srv/pg/postgresql.conf <<EOF
shared_buffers = 128MB
unix_socket_directories = '/tmp'
fsync = off
jit = off
max_connections = 20
EOF
  run "su postgres -c '$bin/pg_ctl -D /srv/pg -l /tmp/pg.log -w -t 300 start' | tail -n 1" || { cat /tmp/pg.log; return 1; }
  run "pgbench -h /tmp -U postgres -i -q -s ${scale:-3} postgres 2>&1 | tail -n 1" || return 1
  pid=$(head -n 1 /srv/pg/postmaster.pid)
  before=$(digest)
  pgbench -h /tmp -U postgres -S -c 4 -j 1 -T 100000 postgres >/tmp/pgbench.log 2>&1 &
  clients=$!
  sleep 5
  observe "$pid" 'psql -h /tmp -U postgres -At -c "select sum(xact_commit) from pg_stat_database"' || return 1
  run "sysctl -w kernel.numa_balancing=0"
  run "numalab balance --pid $pid --every 1s --cpu 20 --for ${balance:-40s}" || return 1
  run "numalab watch --once --pid $pid"
  after=$(digest)
  echo "checksum of the rows: $before before, $after after"
  kill -0 "$clients" || { cat /tmp/pgbench.log; return 1; }
  grep -E 'PANIC|FATAL|ERROR' /tmp/pg.log && return 1
  kill "$clients"
  [ -n "$before" ] && [ "$before" = "$after" ]
}
