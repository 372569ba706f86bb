#!/usr/bin/env bash
# Boots a packaged kernel in QEMU a few times, and checks counters, placement and exit codes. Takes minutes on two
# processors. Installs QEMU and its tools if a package tool works here. If the host cannot run guests, the script says why
# and skips the tests; an error of numalab itself is a failure.
# `scripts/vm-tests.sh full` measures everything that docs/reference/vm.md states, with kernel builds, and writes
# docs/reference/fidelity.md and fidelity-concurrent.md. It takes more than two hours, and never skips.
set -euo pipefail
cd "$(dirname "$0")/.."
full=${1:-}
cargo=${CARGO:-cargo}
profile=${NUMALAB_PROFILE:-release}
numalab=./target/$profile/numalab

fail() {
  echo "vm tests failed: $1" >&2
  exit 1
}

# Ends the script if the host lacks something. With `full` this is a failure, since nothing would be measured.
skip() {
  [ "$full" != full ] || fail "$1"
  echo "vm tests are skipped: $1" >&2
  exit 0
}

# Whether the package tool can download a packaged kernel of a series. Does not use numalab.
package_comes() {
  package=$(apt-cache search --names-only "^linux-image-$1\\.[0-9]+.*-amd64\$" 2>/dev/null | sed '/cloud\|rt-\|dbg\|unsigned/d; s/ .*//' | tail -n 1)
  [ -n "$package" ] || return 1
  directory=$(mktemp -d)
  came=0
  (cd "$directory" && apt-get download "$package" >/dev/null 2>&1) || came=1
  rm -r "$directory"
  return "$came"
}

if [ "$(uname -m)" != x86_64 ]; then
  skip "guests are x86-64 and so is the worker; this is $(uname -m)"
fi
if ! crates/lab/setup.sh "${full:-run}"; then
  skip "what they need cannot be installed here (crates/lab/setup.sh says why)"
fi
# `make test` has built it.
[ -n "${NUMALAB_BUILT:-}" ] || $cargo build --profile "$profile" --bin numalab
code=0
"$numalab" doctor || code=$?
case $code in
0) ;;
3) skip "numalab doctor names what is missing, above" ;;
*) fail "numalab doctor ended with exit code $code" ;;
esac
# NUMALAB_TEST_KERNEL names a kernel for hosts without a package tool.
kernel=${NUMALAB_TEST_KERNEL:-debian-6.12}
if ! "$numalab" kernel build "$kernel"; then
  case $kernel in
  debian-*)
    package_comes "${kernel#debian-}" ||
      skip "no package of $kernel can be had; name a kernel, e.g. NUMALAB_TEST_KERNEL=bzImage:/boot/vmlinuz"
    ;;
  esac
  fail "numalab kernel build $kernel, for the reason above"
fi
if [ "$full" = full ]; then
  $cargo test --profile "$profile" -p numalab-lab --test it -- fidelity:: --ignored --nocapture --test-threads 1
  $cargo test --profile "$profile" -p numalab-host --test guest -- --ignored full
  # Guests that have records are not run again. Simulated runs are repeated if the simulator has changed.
  "$numalab" validate --image debian-6.12,debian-6.1 --thp never,always \
    --markdown docs/reference/fidelity.md --notes docs/log/fidelity-notes.toml
  # Threads that meet at pages, in guests whose CPUs run at the same time. KVM would do as well where it works; emulation runs anywhere.
  "$numalab" validate --timing counters --no-kvm --experiment validate-concurrent --jobs 1 \
    --out out/validate-concurrent --markdown docs/reference/fidelity-concurrent.md
  # Programs and shapes on which nothing of the model was chosen: printed, and kept in out/.
  for machine in 2x1x2x1 8x1x1x1 2x2x1x1 crates/lab/tests/machines/{memory-only,asymmetric}.toml; do
    "$numalab" validate --experiment validate-shapes --machine "$machine" \
      --out "out/validate-shapes/$(basename "$machine" .toml)"
  done
  # PostgreSQL and Redis under watch, record, advise and balance, on two nodes, the unit of the daemon under systemd, and a node that
  # goes while they look.
  NODES=2 NUMALAB=$numalab scripts/services-guest.sh all
  # Plans that were fixed before their first run.
  scripts/unseen.sh
else
  # The whole workspace, as `make test` builds it: a part of it would be built anew, with other features of its packages.
  $cargo test --profile "$profile" --workspace --test it -- --include-ignored --skip fidelity:: guest:: vm::
  $cargo test --profile "$profile" --workspace --test guest -- --include-ignored
  # One real service, in short.
  case $kernel in
  debian-*)
    words="keys=20000 balance=15s record=5s window=3s settle=1s budget=40s"
    NODES=2 NUMALAB=$numalab LIMIT_S=900 GUEST_WORDS=$words scripts/services-guest.sh redis "$kernel"
    # A node whose memory is taken away while `watch`, `record` and `balance` look.
    NODES=2 NUMALAB=$numalab LIMIT_S=900 scripts/services-guest.sh offline "$kernel"
    ;;
  esac
fi
