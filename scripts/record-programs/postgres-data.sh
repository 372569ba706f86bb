#!/bin/sh
# A data directory of PostgreSQL with pgbench's tables: `postgres-data.sh DIRECTORY`. As root it is made by the user `postgres`.
# What the guest does not have is switched off: locales, time zones, huge pages, the compiler for queries.
set -e
bin=$(echo /usr/lib/postgresql/*/bin)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
as=
if [ "$(id -u)" = 0 ]; then
  chown postgres "$work"
  as="setpriv --reuid=postgres --regid=postgres --clear-groups"
fi
run() { (cd "$work" && $as "$@"); }
run "$bin/initdb" -D "$work/data" --no-sync --locale=C -E UTF8 -A trust -U postgres >/dev/null
run tee -a "$work/data/postgresql.conf" >/dev/null <<END
shared_buffers = 128MB
listen_addresses = ''
unix_socket_directories = '/tmp'
timezone = 'GMT'
log_timezone = 'GMT'
fsync = off
jit = off
huge_pages = off
autovacuum = off
max_connections = 20
END
run "$bin/pg_ctl" -D "$work/data" -s -w -o "-k $work" -l "$work/log" start
run "$bin/pgbench" -h "$work" -U postgres -i -q -s "${SCALE:-4}" postgres >/dev/null 2>&1
run "$bin/pg_ctl" -D "$work/data" -s -w -m fast stop
rm -rf "$1"
cp -r "$work/data" "$1"
