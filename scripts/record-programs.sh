#!/usr/bin/env bash
# Records the accesses of programs of Debian's packages, and fits a workload to each: catalog/workloads/recorded/NAME.toml.
#
#   scripts/record-programs.sh [NAME…]
#
# Without names it makes all. Packages that are missing are installed if this is root on Debian or its like; what cannot be had or
# recorded is named, and left out. Records stay in out/recorded. NUMALAB names the command (target/release/numalab). It takes
# about half an hour on two processors. Exit codes: 0 all were made, 1 some were not, 2 an unknown name, 3 nothing can be recorded.
set -uo pipefail
cd "$(dirname "$0")/.."
numalab=${NUMALAB:-target/release/numalab}
here=scripts/record-programs
records=out/recorded
workloads=catalog/workloads/recorded
export OPENBLAS_NUM_THREADS=4 OMP_NUM_THREADS=4

# NAME PACKAGE COMMAND…
programs=(
  "triad gcc $records/bin/triad"
  "redis redis-server sh $here/redis.sh"
  "sqlite sqlite3 sh $here/sqlite.sh"
  "seven-zip p7zip-full 7z b 1 -mmt4 -md20"
  "openssl openssl openssl speed -multi 4 -seconds 1 -evp aes-256-cbc"
  "stress-ng-vm stress-ng stress-ng --vm 2 --vm-bytes 32M --vm-method write64 --vm-ops 20"
  "stress-ng-stream stress-ng stress-ng --stream 4 --stream-ops 8"
  "stress-ng-matrix stress-ng stress-ng --matrix 4 --matrix-size 512 --matrix-ops 8"
  "perf-numa-mem linux-perf perf bench numa mem -p 1 -t 4 -P 32 -T 8 -l 10 -q"
  "numpy-matmul python3-numpy /usr/bin/python3 $here/matmul.py"
  "xz xz-utils xz -T4 --block-size=4MiB -3 -k -c $records/bin/text"
)

say() { echo "record-programs: $1" >&2; }

# Whether the package is there, or can be installed here.
has() {
  dpkg -s "$1" >/dev/null 2>&1 && return 0
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
  RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$1" >/dev/null 2>&1
}

"$numalab" --version >/dev/null 2>&1 || { say "$numalab does not run; build it, or name one in NUMALAB"; exit 3; }
command -v qemu-x86_64 >/dev/null || has qemu-user || { say "no qemu-x86_64 here; apt-get install qemu-user"; exit 3; }
for name in "$@"; do
  printf '%s\n' "${programs[@]}" | grep -q "^$name " || { say "no program \`$name\`"; exit 2; }
done
mkdir -p "$records/bin" "$workloads"
cc -O2 -pthread -o "$records/bin/triad" "$here/triad.c" || say "no C compiler here"
seq 1 2000000 >"$records/bin/text"
failed=0
for line in "${programs[@]}"; do
  read -r name package command <<<"$line"
  [ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
  if ! has "$package"; then
    say "$name: package $package is not here, and cannot be installed"
    failed=1
    continue
  fi
  # shellcheck disable=SC2086
  if ! "$numalab" record --accesses --for 10m --name "$name" --out "$records/$name" -- $command >"$records/$name.txt" 2>&1; then
    say "$name: $(grep '^numalab: ' "$records/$name.txt" | tail -n 1)"
    failed=1
    continue
  fi
  if ! "$numalab" fit "$records/$name" --out "$records/$name.toml" >>"$records/$name.txt" 2>&1; then
    say "$name: $(tail -n 1 "$records/$name.txt")"
    failed=1
    continue
  fi
  version=$(dpkg-query -W -f '${Package} ${Version}' "$package")
  # The workload has the name of its file, and its source says which package it was.
  sed -e "1s/.*/name = \"$name\"/" -e "s/^source = \"/source = \"$version, /" "$records/$name.toml" >"$workloads/$name.toml"
  say "$name: made"
done
exit $failed
