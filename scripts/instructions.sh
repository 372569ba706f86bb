#!/usr/bin/env bash
# Counts the simulator's instructions, if its code has changed since `make instructions` counted them. A release build is needed for
# that, which `make test` has no other use for. NUMALAB is the command whose version names the code.
set -euo pipefail
cd "$(dirname "$0")/.."
numalab=${NUMALAB:-./target/release/numalab}
version=$("$numalab" --version)
if grep -qxF "version = \"${version#numalab }\"" bench/instructions.toml; then
  echo "instructions: counted for this code already (bench/instructions.toml)"
  exit 0
fi
if ! command -v valgrind >/dev/null; then
  echo "instructions: not counted, valgrind is not installed"
  exit 0
fi
echo "instructions: the code has changed since they were counted; \`make instructions\` counts them anew and spares this stage"
NUMALAB_EMBED=none ${CARGO:-cargo} test --release -p numalab-sim --test it instructions:: -- --nocapture
