#!/bin/sh
# Installs what the `vm` backend uses: QEMU, what builds and unpacks kernels, and the Rust target of the worker.
# May be run again at any time; asks nothing. `numalab doctor` says what is still missing.
set -eu

PACKAGES="qemu-system-x86 gcc libc6-dev make flex bison bc libelf-dev libssl-dev ccache patch rsync tar xz-utils"

if command -v apt-get >/dev/null 2>&1; then
    missing=""
    for package in $PACKAGES; do
        status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
        [ "$status" = "install ok installed" ] || missing="$missing $package"
    done
    if [ -n "$missing" ]; then
        as_root=""
        [ "$(id -u)" = 0 ] || as_root="sudo -n"
        # Lists may be old or absent; an update that fails leaves the old ones.
        $as_root apt-get update -q || true
        # shellcheck disable=SC2086
        DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -q --no-install-recommends $missing
    fi
else
    echo "not a Debian-like system; install with its own package tool: $PACKAGES" >&2
fi

if command -v rustup >/dev/null 2>&1; then
    rustup target list --installed | grep -q '^x86_64-unknown-linux-musl$' || rustup target add x86_64-unknown-linux-musl
fi
