#!/usr/bin/env bash
# The plans of catalog/experiments/validate-unseen.toml, which were fixed before their first run: on six machines, beside two
# packaged kernels (the newest of Debian 12 is 6.12). Records in out/validate-unseen; guests that have records are not run again. About an hour on two processors.
# `scripts/unseen.sh 2x1x2x1` does one machine.
set -euo pipefail
cd "$(dirname "$0")/.."
numalab=./target/${NUMALAB_PROFILE:-release}/numalab
own=crates/lab/tests/machines
machines=("$@")
[ "$#" -gt 0 ] || machines=(2x1x2x1 3x1x1x1 4x1x1x1 8x1x1x1 "$own/memory-only.toml" "$own/asymmetric.toml")
for machine in "${machines[@]}"; do
  "$numalab" validate --experiment validate-unseen --machine "$machine" --image debian-6.12,debian-6.1 \
    --out "out/validate-unseen/$(basename "$machine" .toml)"
done
