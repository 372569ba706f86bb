# numalab: `make demo` shows the main job, `make test` runs every test. Both install what they need.
.PHONY: demo test lint unit setup build bench fidelity clean

CARGO ?= cargo

build:
	$(CARGO) build --release --bin numalab

demo: build
	./target/release/numalab reproduce 000

test: lint unit

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

unit:
	$(CARGO) test --workspace --release

bench:
	$(CARGO) run --release -p numalab-sim --example bench
	$(CARGO) run --release -p numalab-kernel --example sched_bench

fidelity: build
	NUMALAB_FIDELITY=full $(CARGO) test --release --test fidelity -- --nocapture

clean:
	$(CARGO) clean
