#!/usr/bin/env bash
# Builds the static command and makes the archive of it, with its completions, manual pages and notices.
#
#   archive.sh DIR
# puts numalab-VERSION-ARCHITECTURE-linux.tar.gz into DIR. It has the same bytes from every folder and on every machine with
# the same toolchain: `make dist` builds it twice and compares. Without git, SOURCE_DATE_EPOCH says of when the files are.
set -euo pipefail
dir=$(realpath "$1")
cd "$(dirname "$0")/.."
root=$PWD
cargo=${CARGO:-cargo}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
architecture=$(uname -m)
target=$architecture-unknown-linux-musl
name=numalab-$version-$architecture-linux
# Nothing in the program says where it was built.
# Symbols have names that hang on the folder, and cargo 1.95 passes over CARGO_PROFILE_RELEASE_STRIP here.
export RUSTFLAGS="-C strip=symbols --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo --remap-path-prefix=$root=numalab"
# As .cargo/config.toml, which the variable replaces.
[ "$architecture" = x86_64 ] && RUSTFLAGS="$RUSTFLAGS -C target-cpu=x86-64-v2"
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export CARGO_TARGET_DIR=$root/target
# Words of the language of whoever builds are in no manual page, and the mask of a folder in no archive.
export LC_ALL=C
umask 022

$cargo build --release --locked --target "$target" --bin numalab
numalab=$root/target/$target/release/numalab

# Laid out as below /usr/local or ~/.local.
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
top=$tree/$name
mkdir -p "$top"/bin "$top"/share/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d,man/man1,doc/numalab}
install -m 755 "$numalab" "$top/bin/"
"$numalab" completions bash >"$top/share/bash-completion/completions/numalab"
"$numalab" completions zsh >"$top/share/zsh/site-functions/_numalab"
"$numalab" completions fish >"$top/share/fish/vendor_completions.d/numalab.fish"
# The page of a command names the pages of its commands.
pages=(numalab)
while [ ${#pages[@]} -gt 0 ]; do
  page=${pages[0]}
  pages=("${pages[@]:1}")
  words=${page#numalab}
  # shellcheck disable=SC2086
  "$numalab" man ${words//-/ } >"$top/share/man/man1/$page.1"
  mapfile -t more < <(sed 's/\\-/-/g' "$top/share/man/man1/$page.1" | grep -o "^$page-[a-z-]*(1)" | sed 's/(1)//' | grep -v -- '-help' || true)
  pages+=("${more[@]}")
done
install -m 644 README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$top/share/doc/numalab/"
# What others wrote, under their licences, and the list of it.
scripts/notices.py numalab-cli "$top/share/doc/numalab"
install -D -m 644 dist/numalab-balance.service "$top/lib/systemd/system/numalab-balance.service"
for file in prometheus.yml alerts.yml grafana-dashboard.json; do
  install -D -m 644 "dist/monitoring/$file" "$top/share/numalab/monitoring/$file"
done
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$tree" -c "$name" | gzip -n9 >"$dir/$name.tar.gz"
