#!/bin/sh
# memcached with four threads, and a client of its library: 20,000 values of 400 bytes are set and read by eight connections.
set -e
memcached -u nobody -p 11311 -l 127.0.0.1 -t 4 -m 64 -U 0 >/dev/null &
server=$!
until memcping --servers=127.0.0.1:11311 >/dev/null 2>&1; do sleep 0.2; done
memcslap --servers=127.0.0.1:11311 --concurrency=8 --execute-number=2500 --test=set
memcslap --servers=127.0.0.1:11311 --concurrency=8 --execute-number=2500 --test=get
kill "$server"
wait "$server" || :
