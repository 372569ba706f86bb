#!/usr/bin/env bash
# Boots a packaged kernel in QEMU a few times: counters, placement, exit codes. Minutes on two processors.
# Installs QEMU and the tools around it where a package tool works; elsewhere it says why nothing is tested.
# `scripts/vm-tests.sh full` measures everything that docs/vm.md states, kernel builds included, and writes
# docs/fidelity.md: about two hours.
set -euo pipefail
cd "$(dirname "$0")/.."
full=${1:-}
cargo=${CARGO:-cargo}

skip() {
  echo "vm tests are skipped: $1" >&2
  exit 0
}

if [ "$(uname -m)" != x86_64 ]; then
  skip "guests are x86-64 and so is the worker; this is $(uname -m)"
fi
if ! crates/lab/setup.sh "${full:-run}"; then
  skip "what they need cannot be installed here (crates/lab/setup.sh says why)"
fi
$cargo build -p numalab-worker --profile worker --target x86_64-unknown-linux-musl
$cargo build --release --bin numalab
./target/release/numalab doctor || skip "numalab doctor names what is missing, above"
# Without a package tool there is still the kernel that NUMALAB_TEST_KERNEL names.
if ! ./target/release/numalab kernel build "${NUMALAB_TEST_KERNEL:-debian-6.12}"; then
  skip "there is no kernel to boot; name one, e.g. NUMALAB_TEST_KERNEL=bzImage:/boot/vmlinuz"
fi
if [ "$full" = full ]; then
  $cargo test --release -p numalab-lab --test fidelity -- --ignored --nocapture --test-threads 1
  # Guests that have records are not run again; what is simulated is, where the simulator has changed.
  ./target/release/numalab validate --image debian-6.12,debian-6.1 --thp never,always \
    --markdown docs/fidelity.md --notes docs/fidelity-notes.toml
else
  $cargo test --release -p numalab-lab --test guest -p numalab-cli --test vm -- --include-ignored
fi
