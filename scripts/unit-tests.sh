#!/usr/bin/env bash
# The tests of the Rust crates, in the profile NUMALAB_PROFILE (release, or checked: with assertions and overflow checks).
#   unit-tests.sh setup   installs the programs that tests call, where that works; tests say which they lack
#   unit-tests.sh build   the command, the Python extension and all test programs
#   unit-tests.sh run     the tests, with the seconds of each in target/test-times
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
profile=${NUMALAB_PROFILE:-release}

case ${1:-run} in
setup)
  make --no-print-directory target
  crates/lab/setup.sh test || echo "not all of that can be installed here: some tests will be skipped"
  ;;
build)
  $cargo build --profile "$profile" -p numalab-cli -p numalab-py
  $cargo test --profile "$profile" --workspace --no-run
  ;;
run)
  scripts/alone.sh "target/$profile/numalab"
  mkdir -p target/test-times
  $cargo test --profile "$profile" --workspace --no-fail-fast --config "target.'cfg(all())'.runner='scripts/timed-test.sh'"
  ;;
*)
  echo "unit-tests.sh: '$1'; expected setup, build or run" >&2
  exit 2
  ;;
esac
