//! Feeds what libFuzzer finds to the reader that `NUMALAB_READER` names. A panic, or a cost beyond the reader's budget,
//! ends the run, and libFuzzer keeps the input. `NUMALAB_SEEDS=DIR` writes the reader's first inputs there instead,
//! and `NUMALAB_LIST=1` the names of all readers to the standard output.
#![no_main]

use libfuzzer_sys::fuzz_target;
use numalab_hostile::{Budget, Cost, Reader, READERS};
use peak_alloc::PeakAlloc;
use std::sync::OnceLock;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The reader of this run.
static READER: OnceLock<&Reader> = OnceLock::new();

/// Finds the reader, before libFuzzer looks at how the program ends.
fn begin() {
    if std::env::var_os("NUMALAB_LIST").is_some() {
        READERS.iter().for_each(|r| println!("{}", r.name));
        std::process::exit(0);
    }
    let name = std::env::var("NUMALAB_READER").unwrap_or_default();
    let Some(reader) = Reader::named(&name) else {
        eprintln!("NUMALAB_READER={name}: no such reader; `scripts/fuzz.sh --list` has their names");
        std::process::exit(2);
    };
    if let Ok(dir) = std::env::var("NUMALAB_SEEDS") {
        for (i, seed) in reader.seeds().into_iter().chain(reader.found().into_iter().map(|f| f.1)).enumerate() {
            if let Err(e) = std::fs::write(format!("{dir}/seed-{i}"), seed) {
                eprintln!("{dir}: {e}");
                std::process::exit(3);
            }
        }
        std::process::exit(0);
    }
    READER.get_or_init(|| reader);
}

/// The counters of libFuzzer double what code takes.
const SLOWER: u64 = 3;

fuzz_target!(init: begin(), |input: &[u8]| {
    let Some(reader) = READER.get() else { return };
    let budget = Budget { base_ms: SLOWER * reader.budget.base_ms, ..reader.budget };
    let cost = Cost::of(reader.read, input);
    let cost = Cost { cpu_ns: cost.cpu_ns / SLOWER, ..cost };
    if let Err(e) = budget.allows(input.len(), cost) {
        panic!("`{}`: {e}", reader.name);
    }
});
