#!/usr/bin/env bash
# Records the accesses of programs of Debian's packages, and fits a workload to each: catalog/workloads/recorded/NAME.toml.
#
#   scripts/record-programs.sh [--in guest] [NAME…]
#
# Without names it makes all. With `--in guest` they are recorded in a guest, as those of record-programs/guest-list always are; that
# needs qemu-system-x86 and takes a minute or more for each. Packages that are missing are installed if this is root on Debian or its like; what cannot be had or
# recorded is named, and left out. Records stay in out/recorded. NUMALAB names the command (target/release/numalab). It takes
# some minutes on two processors. Exit codes: 0 all were made, 1 some were not, 2 an unknown name, 3 nothing can be recorded.
set -uo pipefail
cd "$(dirname "$0")/.."
numalab=${NUMALAB:-target/release/numalab}
here=scripts/record-programs
records=out/recorded
workloads=catalog/workloads/recorded
export OPENBLAS_NUM_THREADS=4 OMP_NUM_THREADS=4

in_guest=
if [ "${1:-}" = --in ]; then
  [ "${2:-}" = guest ] || { echo "record-programs: --in ${2:-}: expected guest" >&2; exit 2; }
  in_guest=yes
  shift 2
fi
programs=$(grep -hv '^#' $here/list $here/guest-list)

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
  grep -q "^$name |" <<<"$programs" || { say "no program \`$name\`"; exit 2; }
done
mkdir -p "$records/bin" "$workloads"
cc -O2 -pthread -o "$records/bin/triad" "$here/triad.c" || say "no C compiler here"
cc -O2 -ffast-math -pthread -o "$records/bin/weights" "$here/weights.c" || say "no C compiler here"
seq 1 2000000 >"$records/bin/text"
seq 1 600000 >"$records/bin/numbers"
seq 1 250000 | shuf --random-source="$records/bin/text" >"$records/bin/shuffled"
failed=0
while IFS='|' read -r name package needs command; do
  name=${name// /} package=${package// /}
  [ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
  if ! has "$package"; then
    say "$name: package $package is not here, and cannot be installed"
    failed=1
    continue
  fi
  [ "$name" != postgres ] || sh $here/postgres-data.sh "$records/bin/pgdata" || { say "$name: no data directory"; failed=1; continue; }
  [ "$name" != memcached ] || has libmemcached-tools || { say "$name: no libmemcached-tools"; failed=1; continue; }
  [ "$name" != jvm-maps ] || javac -d "$records/bin/classes" $here/Maps.java || { say "$name: no class"; failed=1; continue; }
  where=()
  if [ -n "$in_guest" ] || grep -q "^$name |" $here/guest-list; then
    where=(--in guest --guest-memory 3GiB)
    for path in $needs; do where+=(--with "$path"); done
    for variable in OPENBLAS_NUM_THREADS OMP_NUM_THREADS; do where+=(--env "$variable=4"); done
  fi
  # shellcheck disable=SC2086
  if ! "$numalab" record --accesses "${where[@]}" --for 20m --name "$name" --out "$records/$name" -- $command >"$records/$name.txt" 2>&1 </dev/null; then
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
done <<<"$programs"
exit $failed
