#!/usr/bin/env bash
# A real PostgreSQL (with pgbench) and a real Redis in a guest, under `numalab watch`, `record`, `advise --pid` and `balance`.
#
#   scripts/services-guest.sh [postgres|redis|systemd|offline|all] [KERNEL]
#
# `systemd` boots the guest with systemd, and starts the unit of the balancing daemon there (dist/numalab-balance.service).
# `offline` takes a node's memory and another's CPUs away while `watch`, `record` and `balance` look.
#
# KERNEL is a packaged kernel (debian-6.12, the default, or debian-6.1). Debian's packages of both services and of busybox are
# fetched with apt-get and unpacked below target/services; nothing is installed. What happens in the guest is in
# scripts/services-guest/. Its console is shown, and kept in target/services/SERVICE-KERNEL.txt.
#
# NUMALAB names a command that is linked statically, or against the C library of this Debian; else target/dist's is built.
# ACCEL is QEMU's accelerator; `kvm` is faster than the emulation that is the default. It takes 5 to 15 minutes a service under
# emulation. NODES is the number of memory nodes, 2 or 4 (the default), of two CPUs each.
# GUEST_WORDS shortens it, for example "scale=1 budget=90s balance=20s": pgbench's scale, and the times of advise and balance;
# also window=, settle= and keys=.
# Exit codes: 0 all is well, 1 the guest reports a failure, 2 wrong words, 3 this host lacks something.
set -euo pipefail
cd "$(dirname "$0")/.."
which=${1:-all}
kernel=${2:-debian-6.12}
accel=${ACCEL:-tcg,thread=multi}
limit_s=${LIMIT_S:-2400}
nodes=${NODES:-4}
work=target/services

lacks() {
  echo "services-guest: $1" >&2
  exit 3
}

case $which in
postgres | redis | systemd | offline) services=$which ;;
all) services="postgres redis systemd offline" ;;
*)
  echo "services-guest: \`$which\`; expected postgres, redis, systemd, offline or all" >&2
  exit 2
  ;;
esac
case $nodes in
2 | 4) ;;
*)
  echo "services-guest: NODES is \`$nodes\`; expected 2 or 4" >&2
  exit 2
  ;;
esac
for program in qemu-system-x86_64 apt-get dpkg-deb cpio; do
  command -v "$program" >/dev/null || lacks "no $program here; crates/lab/setup.sh test installs what is needed on Debian"
done

# The command that runs in the guest.
if [ -z "${NUMALAB:-}" ]; then
  cargo build --release --target x86_64-unknown-linux-musl --bin numalab
  NUMALAB=target/x86_64-unknown-linux-musl/release/numalab
fi
"$NUMALAB" --version >/dev/null || lacks "$NUMALAB does not run"
"$NUMALAB" kernel build "$kernel" || lacks "no kernel $kernel, for the reason above"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/numalab/images/$kernel
image=$cache/$(cat "$cache/current")/vmlinuz

# Debian's packages: the services, a shell, and every library that they depend on. The compiler for queries is left out: it is
# as large as all the rest, and switched off in the guest.
mkdir -p "$work/packages"
major=$(apt-cache depends postgresql 2>/dev/null | sed -n 's/^ *Depends: postgresql-\([0-9]*\)$/\1/p' | head -n 1)
[ -n "$major" ] || lacks "the package lists have no postgresql; apt-get update brings them"
named="busybox-static postgresql-$major postgresql-client-$major redis-server redis-tools tzdata systemd"
# shellcheck disable=SC2086
closure=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances $named |
  grep -E '^(lib[a-z0-9.+-]+|zlib1g)$' | grep -v -E -- '-perl$|^libllvm|^libz3|^libperl|^libdebian-installer|^libelogind' | sort -u)
if [ "$(cat "$work/packages/list" 2>/dev/null)" != "$named $closure" ]; then
  rm -rf "$work/packages" "$work/root"
  mkdir -p "$work/packages"
  # shellcheck disable=SC2086
  (cd "$work/packages" && apt-get download -q $named $closure) || lacks "the packages cannot be downloaded, for the reason above"
  echo "$named $closure" >"$work/packages/list"
fi

# The guest's files. Debian's programs are dynamically linked and keep their places; documentation is left out.
root=$work/root
if [ ! -e "$root/complete" ]; then
  rm -rf "$root"
  mkdir -p "$root"/{dev,proc,sys,tmp,run,etc,root,bin,lib64,usr/lib,srv}
  for package in "$work"/packages/*.deb; do
    dpkg-deb --fsys-tarfile "$package" |
      tar -x -C "$root" --keep-directory-symlink --exclude='./usr/share/doc*' --exclude='./usr/share/man*' \
        --exclude='./usr/share/locale*' --exclude='./usr/share/zoneinfo/right*' --exclude='./usr/share/zoneinfo/posix*' \
        --exclude='./usr/share/lintian*' --exclude='*/bitcode*' --exclude='*/llvmjit*' --exclude='./usr/lib/x86_64-linux-gnu/gconv*'
  done
  printf 'root:x:0:0:root:/root:/bin/sh\npostgres:x:26:26:postgres:/srv:/bin/sh\n' >"$root/etc/passwd"
  printf 'root:x:0:\npostgres:x:26:\n' >"$root/etc/group"
  echo "127.0.0.1 localhost" >"$root/etc/hosts"
  touch "$root/complete"
fi
cp "$NUMALAB" "$root/bin/numalab"
cp scripts/services-guest/*.sh "$root/"
cp scripts/services-guest/check.service dist/numalab-balance.service "$root/srv/"
mv "$root/init.sh" "$root/init"
chmod 755 "$root/init" "$root"/*.sh
(cd "$root" && find . -print0 | sort -z | cpio --null --quiet -o -H newc -R 0:0) >"$work/initrd"

cpu=max,vendor=GenuineIntel,l3-cache=on,-monitor,-erms
case $accel in kvm*) cpu=host,l3-cache=on ;; esac
numa=""
for n in $(seq 0 $((nodes - 1))); do
  numa="$numa -object memory-backend-ram,id=m$n,size=$((3072 / nodes))M -numa node,nodeid=$n,memdev=m$n,cpus=$((2 * n))-$((2 * n + 1))"
done

# A node more, without CPUs, whose memory is a module that the guest may eject.
removable="-m 3072M,slots=1,maxmem=4G -numa node,nodeid=$nodes -object memory-backend-ram,id=module,size=256M"
removable="$removable -device pc-dimm,id=dimm,memdev=module,node=$nodes"

boot() {
  memory="-m 3072M"
  option=""
  [ "$1" != offline ] || { memory=$removable; option=memhp_default_state=online_movable; }
  # shellcheck disable=SC2086
  timeout "$limit_s" qemu-system-x86_64 -nodefaults -no-user-config -no-reboot -display none -monitor none -nic none -machine pc \
    -accel "$accel" -cpu "$cpu" -smp "$((2 * nodes)),sockets=$nodes,cores=2,threads=1" $numa $memory \
    -kernel "$image" -initrd "$work/initrd" \
    -append "console=ttyS0 quiet panic=-1 oops=panic tsc=reliable no_timer_check nokaslr mitigations=off audit=0 apparmor=0 cryptomgr.notests rdinit=/init service=$1 $option ${GUEST_WORDS:-}" \
    -serial stdio </dev/null | sed -u 's|\r||g' | tee "$2" || true
}

status=0
for service in $services; do
  console=$work/$service-$kernel.txt
  echo "$service on $kernel: at most $((limit_s / 60)) minutes, console in $console"
  for _ in 1 2 3 4; do
    boot "$service" "$console"
    # A packaged kernel replaces its own code, and a processor of the emulator may run a breakpoint that is gone.
    grep -q "Oops: int3" "$console" || break
    echo "$service: booted again, as the emulator ran a breakpoint that was gone" >&2
  done
  # Every counter that this kernel has can be asked for.
  for name in $(sed -n 's/^VMSTAT //p' "$console" | tail -n 1); do
    "$NUMALAB" counters "$name" >/dev/null || status=1
  done
  if grep -q "^RESULT $service ok" "$console"; then
    echo "$service: ok"
  else
    echo "$service: failed; $console says where" >&2
    status=1
  fi
done
exit "$status"
