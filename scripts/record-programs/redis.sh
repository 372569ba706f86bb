#!/bin/sh
# A Redis without files, and its own benchmark: 20,000 keys of 1 KiB are set and read.
set -e
redis-server --port 16379 --save "" --appendonly no --daemonize no >/dev/null &
server=$!
until redis-cli -p 16379 ping >/dev/null 2>&1; do sleep 0.2; done
redis-benchmark -p 16379 -q -n 20000 -r 20000 -d 1024 -c 8 -t set,get
redis-cli -p 16379 shutdown nosave
wait "$server"
