#!/bin/sh
# PostgreSQL with pgbench: four clients read rows by their keys. `postgres.sh DATA` leaves DATA as it is, and works on a copy.
set -e
bin=$(echo /usr/lib/postgresql/*/bin)
cp -r "$1" /tmp/pgdata
chown -R 65534 /tmp/pgdata
chmod 700 /tmp/pgdata
setpriv --reuid=65534 --clear-groups "$bin/postgres" -D /tmp/pgdata >/tmp/pg.log 2>&1 &
server=$!
until "$bin/pg_isready" -q -h /tmp; do sleep 0.2; done
"$bin/pgbench" -h /tmp -U postgres -n -S -M prepared -c 4 -j 1 -t 3000 postgres
kill -INT "$server"
wait "$server"
