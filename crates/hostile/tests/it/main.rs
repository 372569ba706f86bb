//! Hostile inputs in short: a few hundred for each reader, the same in every run. `make fuzz` looks for new ones.
#![allow(clippy::unwrap_used)]

use numalab_base::rng::Rng;
use numalab_hostile::{change::change, Cost, Reader, READERS};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Changed inputs of each reader.
const CHANGED: usize = 300;

/// Reads an input within its budget. What breaks it is written where it can be had. Returns CPU time, us, and peak
/// memory, KiB.
fn read(reader: &Reader, input: &[u8], what: &str) -> (u64, usize) {
    let kept = std::env::temp_dir().join(format!("numalab-hostile-{}", reader.name));
    std::fs::write(&kept, input).unwrap();
    let cost = Cost::of(reader.read, input);
    if let Err(e) = reader.budget.allows(input.len(), cost) {
        panic!("{} of `{}`: {e}; the input is in {}", what, reader.name, kept.display());
    }
    let _ = std::fs::remove_file(kept);
    (cost.cpu_ns / 1_000, cost.peak_bytes >> 10)
}

/// One test, because memory is counted for the whole program.
#[test]
fn readers_neither_panic_nor_cost_more_than_their_inputs_are_worth() {
    for reader in READERS {
        let seeds = reader.seeds();
        assert!(!seeds.is_empty() && seeds.iter().all(|s| !s.is_empty()), "`{}` has no inputs", reader.name);
        let mut costs: Vec<_> = seeds.iter().map(|seed| read(reader, seed, "a seed")).collect();
        costs.extend(reader.found().iter().map(|(name, input)| read(reader, input, name)));
        let mut rng = Rng::new(1);
        for _ in 0..CHANGED {
            let seed = &seeds[rng.below(seeds.len() as u64) as usize];
            costs.push(read(reader, &change(seed, &mut rng), "a changed input"));
        }
        let most = |f: fn(&(u64, usize)) -> u64| costs.iter().map(f).max().unwrap_or(0);
        println!("{:14} {:5} inputs, {:8} us, {:8} KiB", reader.name, costs.len(), most(|c| c.0), most(|c| c.1 as u64));
    }
    assert!(Reader::named("workload").is_some() && Reader::named("nobody").is_none());
}
