#!/usr/bin/env bash
# Builds the playground: one folder of static files, target/playground. `scripts/playground.sh wasm` stops after the module.
#
# It needs a Rust toolchain that can make WebAssembly: rustup's target wasm32-unknown-unknown, or Debian's rustc-web with the
# sources of its standard library. Where neither can be had, it says so and ends with 3.
set -euo pipefail
cd "$(dirname "$0")/.."
export NUMALAB_EMBED=none
target=wasm32-unknown-unknown
cargo=${CARGO:-cargo}
profile=page
options=()

has_rustup_target() { command -v rustup >/dev/null && rustup target list --installed 2>/dev/null | grep -qx "$target"; }

# rust-lld of the toolchain that PATH has, or of Debian's.
find_lld() {
  local sysroot
  sysroot=$(rustc --print sysroot 2>/dev/null || true)
  find "$sysroot/lib/rustlib" /usr/lib/rustlib /usr/lib/rust-web* -name rust-lld 2>/dev/null | head -n 1
}

# Debian's compiler has no standard library for the target, so it is built from its sources.
use_debian() {
  local root=${RUST_WEB_ROOT:-} rustc lld
  rustc=$root/usr/bin/rustc
  [ -x "$rustc" ] && [ -d "$("$rustc" --print sysroot)/lib/rustlib/src/rust/library" ] || return 1
  lld=$(find_lld)
  [ -n "$lld" ] || return 1
  echo "playground: $("$rustc" --version) of Debian, with its standard library built from source, linked by $lld" >&2
  export RUSTC=$rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$lld
  options+=(-Z build-std=std,panic_abort)
  if [ -x "$root/usr/bin/cargo" ]; then cargo=$root/usr/bin/cargo; fi
}

install_debian() {
  command -v apt-get >/dev/null || return 1
  local as_root=""
  [ "$(id -u)" = 0 ] || as_root="sudo -n"
  echo "playground: installing rustc-web and rust-web-src" >&2
  DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -q --no-install-recommends rustc-web cargo-web rust-web-src >/dev/null 2>&1
}

choose() {
  if [ "${NUMALAB_WASM:-}" != debian ]; then
    if ! has_rustup_target && command -v rustup >/dev/null; then rustup target add "$target" >/dev/null 2>&1 || true; fi
    if has_rustup_target; then
      echo "playground: $(rustc --version) with rustup's target $target" >&2
      return
    fi
  fi
  use_debian || { install_debian && use_debian; } || {
    echo "playground: no Rust compiler for $target can be had here: neither rustup's target nor Debian's rustc-web" >&2
    exit 3
  }
}

module() {
  choose
  "$cargo" rustc --quiet "${options[@]}" --profile "$profile" --target "$target" -p numalab-wasm --lib --crate-type cdylib
}

module
[ "${1:-}" != wasm ] || exit 0
root=$PWD here=$PWD/tests/browser
. tests/browser/setup.sh
packages "$root/web"
out=target/playground
rm -rf "$out"
node playground/build.mjs "target/$target/$profile/numalab_wasm.wasm" "$out"
echo "playground: $out/index.html"
