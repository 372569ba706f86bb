#!/bin/sh
# Installs the packages that the `vm` backend needs. It can be run again at any time, asks no question, and fails if a
# package is still missing.
#
#   setup.sh run     QEMU, the tools that unpack kernels, the Rust target of the worker
#   setup.sh test    the same, and the programs that unit tests call: QEMU for programs among them
#   setup.sh         the same, and the tools that build kernels
set -eu

PACKAGES="qemu-system-x86 gcc libc6-dev tar xz-utils"
case ${1:-full} in
run) ;;
test) PACKAGES="$PACKAGES qemu-user cpio rsync patch valgrind numactl hwloc-nox likwid dmidecode" ;;
full) PACKAGES="$PACKAGES qemu-user cpio rsync make flex bison bc libelf-dev libssl-dev ccache patch" ;;
*)
    echo "setup.sh: \`$1\`; expected run, test, full or nothing" >&2
    exit 2
    ;;
esac

if command -v apt-get >/dev/null 2>&1; then
    missing=""
    for package in $PACKAGES; do
        status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
        [ "$status" = "install ok installed" ] || missing="$missing $package"
    done
    as_root=""
    [ "$(id -u)" = 0 ] || as_root="sudo -n"
    # Without package lists no kernel can be fetched. Old lists suffice.
    if [ -n "$missing" ] || ! apt-cache show linux-image-amd64 >/dev/null 2>&1; then
        $as_root apt-get update -q || true
    fi
    if [ -n "$missing" ]; then
        # shellcheck disable=SC2086
        DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -q --no-install-recommends $missing
    fi
elif ! command -v qemu-system-x86_64 >/dev/null 2>&1; then
    echo "not a Debian-like system; install the contents of these packages with its own package tool: $PACKAGES" >&2
    exit 1
fi

TARGET=x86_64-unknown-linux-musl
if command -v rustup >/dev/null 2>&1; then
    rustup target list --installed | grep -q "^$TARGET\$" || rustup target add $TARGET
fi
