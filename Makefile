# numalab: `make demo` is the tour and needs a Rust toolchain. `make test` runs every test and needs Python 3.11
# (with venv) and Node.js (with npm) besides; it installs packages of theirs for itself, and Chromium, QEMU, cpio, rsync, patch and valgrind
# where apt-get works without asking. Tests that lack one of these six say so and are skipped.
.PHONY: demo test lint unit linux-check changes checked python browser vm build bench bench-against instructions check-physics bench-python fidelity sweep soak fuzz docs target reproduce dist agreement reference pictures site playground clean

CARGO ?= cargo

build: target
	$(CARGO) build --release --bin numalab

# The worker inside the command is linked with musl, which is a target of its own. Without rustup a static libc must do.
target:
	@! command -v rustup >/dev/null || rustup target list --installed | grep -q '^x86_64-unknown-linux-musl$$' || \
		rustup target add x86_64-unknown-linux-musl || echo "the worker will be linked with the static libc of this system"

# The tour: one experiment in some seconds, its answer, its page, and what to type next.
demo: build
	scripts/demo.sh

# Three kernels of the 2023 disjoint-VMA thread, published beside simulated, one run of each, and the same as a page: report.html.
reproduce: build
	./target/release/numalab reproduce disjoint-vma-2023 --iterations 1

# What is given to users, in target/dist: an archive of the static command, and a wheel.
dist: target
	scripts/dist.sh

# The stages, and what each took: scripts/test.sh.
test:
	scripts/test.sh

lint:
	$(CARGO) fmt --all --check
	# Files of variants are modules that a macro declares, which cargo fmt does not see.
	rustfmt --edition 2021 --check $$(git ls-files 'crates/kernel/src/*.rs')
	NUMALAB_EMBED=none $(CARGO) clippy --profile $(or $(NUMALAB_PROFILE),release) --workspace --all-targets -- -D warnings
	# Every crate can be packed, with what it embeds from the catalog.
	$(CARGO) package --workspace --no-verify --allow-dirty --quiet
	# The catalog without the store of records, as it is for wasm32-unknown-unknown: no files, and nothing that needs them.
	$(CARGO) clippy --profile $(or $(NUMALAB_PROFILE),release) -p numalab-sim -p numalab-model --no-default-features -- -D warnings
	! $(CARGO) tree -p numalab-sim -e normal --target wasm32-unknown-unknown --prefix none | grep -E "^(rustix|libc|tempfile|getrandom) "

# The tests of the crates, as users have the command; `make test` runs them in the profile `checked`.
unit:
	scripts/unit-tests.sh setup
	scripts/unit-tests.sh build
	scripts/unit-tests.sh run

# The patches of linux/: checkpatch of the packaged source, that they apply, and their rules in user space.
linux-check:
	scripts/linux-check.sh

# What CONTRIBUTING.md says a filter, a rule, a pattern, a release and a column take, on a copy of the sources.
changes:
	scripts/prove-changes.py

# The tests with assertions and overflow checks: the same plan must give the same bytes.
checked: export NUMALAB_PROFILE = checked
checked: unit

python:
	scripts/python-tests.sh

bench:
	$(CARGO) run --release -p numalab-sim --example bench
	$(CARGO) run --release -p numalab-sim --example limit
	$(CARGO) run --release -p numalab-kernel --example sched_bench
	$(CARGO) run --release -p numalab-kernel --example contention_bench

# Instructions per page event and per tick, counted by callgrind: writes bench/instructions.toml, which a test compares with.
instructions:
	NUMALAB_INSTRUCTIONS=write $(CARGO) test --release -p numalab-sim --test it instructions:: -- --nocapture

# Speed beside another commit: make bench-against REF=v0.24.0
bench-against:
	python3 scripts/bench-against.py $(REF)

# What the Python package costs beside its targets, after `make python` (ten minutes).
bench-python:
	PYTHONPATH=python target/python/bin/python scripts/bench-python.py

# Real kernels in QEMU: counters, placement, exit codes. Says so where it cannot run.
vm:
	scripts/vm-tests.sh

# The long comparisons: with published tables, and with real kernels; writes catalog/trust.toml and docs/reference/fidelity.md (hours).
fidelity: build
	NUMALAB_LONG=1 $(CARGO) test --release -p numalab-sim --test it
	NUMALAB_EMBED=none $(CARGO) build --profile checked --bin numalab
	NUMALAB_EMBED=none $(CARGO) build --bin numalab
	scripts/same-bytes.sh target/release/numalab target/checked/numalab target/debug/numalab
	./target/release/numalab reproduce --all --trust catalog/trust.toml
	scripts/vm-tests.sh full

# Every machine of the catalog under threads that fault, come back together, sweep and read at random: no node's memory, link or
# cache port lets more through than it has (minutes). `make test` does three machines.
check-physics: target
	NUMALAB_EMBED=none $(CARGO) test --release -p numalab-sim --test it -- physics:: --include-ignored --nocapture

# libFuzzer on every reader, FUZZ_SECONDS each (an hour by default), and the property tests with a hundred times as many cases as in
# `make test`. READERS="workload import" names some; CASES=N says how many of each property.
CASES ?= 25600
FUZZ_SECONDS ?= 120
READERS ?=
fuzz:
	scripts/fuzz.sh --seconds $(FUZZ_SECONDS) $(READERS)
	NUMALAB_EMBED=none PROPTEST_CASES=$(CASES) $(CARGO) test --release -p numalab-model --test it -- machine_hostile:: machine_sources:: workload::
	NUMALAB_EMBED=none PROPTEST_CASES=$(CASES) $(CARGO) test --release -p numalab-kernel --test it hw::

# Runs drawn by lot from the whole catalog, with checks of arithmetic: what no table asks for must end too (an hour).
sweep:
	NUMALAB_SWEEP=200 NUMALAB_EMBED=none $(CARGO) test --profile checked -p numalab-sim --test it sweep:: -- --nocapture

# Machines, kernels and workloads by lot for SOAK_MINUTES, three hours by default: each run keeps its invariants, ends, and has totals that
# fit. Each round has a new seed, which it prints.
SOAK_MINUTES ?= 180
soak:
	scripts/soak.sh $(SOAK_MINUTES)

# Writes what the manual has from the code anew: reference pages, tables of keys, and the output that pages show.
reference: build
	NUMALAB_GOLDEN=write $(CARGO) test --release -p numalab-kernel --test it release_switches::
	NUMALAB_DOCS=write $(CARGO) test -p numalab-report --test it docs::
	NUMALAB_DOCS=write $(CARGO) test -p numalab-cli --lib reference
	NUMALAB_DOCS=write scripts/python-tests.sh tests/test_docs.py tests/test_readme.py tests/test_python_api.py

# The table of docs/reference/likes.md: published measurements, and what `advise --like` predicts for them. Some minutes to half an hour.
agreement: build
	scripts/likes-agreement.py target/release/numalab --write

# Pictures of the manual, drawn from runs: how balancing works (docs/images/balancing-*.svg), and the page of first-steps
# (docs/images/report-*.png; a test tells when they are stale).
pictures: build
	python3 scripts/pictures.py
	tests/browser/pictures.sh

# The documentation site, in target/site. Needs Python 3 with venv, and installs mkdocs-material for itself.
docs:
	scripts/docs.sh

# Follows every link of the site, looks at its pages in headless Chromium, and writes pictures of some to docs/images.
site:
	tests/browser/site.sh ../../docs/images

# The simulator in a web page with lessons, in target/playground: static files that open from disk (docs/tutorials/playground.md).
# Needs Node.js with npm, and a Rust compiler for WebAssembly; says which it takes.
playground:
	scripts/playground.sh

clean:
	$(CARGO) clean

# The HTML report in headless Chromium. Says so where there is none.
browser:
	tests/browser/run.sh
