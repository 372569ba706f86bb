//! How far scans and faults are from the limit, printed: `make bench`.
//!
//! The limit is a walk over the state of the same pages that decides nothing: for each page it reads node, last cpupid
//! and frame, and changes a mark and the cpupid. What a scan, a hint fault or a first touch takes for each page in a
//! run is divided by it.

use numalab_kernel::mm::StateSizes;
use numalab_kernel::registry;
use numalab_model::catalog::Catalog;
use numalab_model::machine::Machine;
use numalab_model::record::Outcome;
use numalab_model::spec::Spot;
use numalab_sim::SimConfig;
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

/// Largest ratio.
const TARGET: f64 = 6.0;
/// Targets of the state, bytes for a page of 4 KiB and for an idle huge page.
const STATE_BYTES: [f64; 2] = [8.0, 64.0];
/// Pages of 4 KiB: 1 GiB.
const PAGES: usize = 1 << 18;
/// Walks that are timed together: the kernel counts CPU time by ticks, and one walk is shorter than that.
const WALKS: usize = 256;
/// Every time is the shortest of so many.
const ROUNDS: usize = 3;
const PER_CHUNK: usize = 512;

/// A thread fills 1 GiB, and then computes, or sweeps it again and again. Of a process with one thread nothing would be
/// marked.
const HEAD: &str = "name = \"limit\"\ntitle = \"t\"\nabout = \"a\"\nsource = \"written for numalab\"\n\
    [[process]]\nname = \"p\"\nthreads = 1\ninitial = \"joins\"\n[[process.region]]\nname = \"memory\"\nsize = \"1GiB\"\n\
    [[process.region]]\nname = \"none\"\nsize = \"4KiB\"\n[[process.phase]]\naccess = \"memory\"\nwrite = 1\n";
const COMPUTE: &str = "[[process.phase]]\ncount = 2000\nsteps = [{ compute = \"10ms\" }]\n";
const SWEEP: &str = "[[process.phase]]\ncount = 400\naccess = \"memory\"\nwrite = 1\n";

/// The state of 512 pages, as a mapping keeps it.
#[derive(Clone)]
struct Chunk {
    present: [u64; 8],
    marked: [u64; 8],
    node: [u8; PER_CHUNK],
    last: [u32; PER_CHUNK],
    frame: [u32; PER_CHUNK],
}

fn walk(chunks: &mut [Chunk]) -> u64 {
    let mut sum = 0u64;
    for c in chunks {
        for page in 0..PER_CHUNK {
            let (word, bit) = (page >> 6, 1u64 << (page & 63));
            if c.present[word] & bit != 0 {
                sum = sum.wrapping_add(u64::from(c.node[page]) + u64::from(c.last[page]) + u64::from(c.frame[page]));
                c.marked[word] ^= bit;
                c.last[page] = sum as u32;
            }
        }
    }
    sum
}

/// CPU time of this process so far, s; wall time where the kernel does not say.
fn cpu_s(start: Instant) -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let ns: Option<f64> = text.split_whitespace().next().and_then(|n| n.parse().ok());
    ns.map_or_else(|| start.elapsed().as_secs_f64(), |ns| ns / 1e9)
}

/// The shortest CPU time of a few rounds, s, and what the last one returned.
fn shortest<T>(mut what: impl FnMut() -> Result<T, Box<dyn Error>>) -> Result<(f64, T), Box<dyn Error>> {
    let start = Instant::now();
    let mut best = f64::INFINITY;
    for round in 1.. {
        let before = cpu_s(start);
        let out = what()?;
        best = best.min(cpu_s(start) - before);
        if round == ROUNDS {
            return Ok((best, out));
        }
    }
    Err("no round".into())
}

/// CPU time of a run, s, and its outcome.
fn run(machine: &Machine, kernel: &str, phases: &str) -> Result<(f64, Outcome), Box<dyn Error>> {
    let workload = numalab_model::workload::parse("limit", &format!("{HEAD}{phases}"))?.resolve(machine, 1, &[])?;
    let name = Spot { value: kernel.to_string(), file: "bench".into(), line: 0, column: 0 };
    let kernels = numalab_model::kernel::resolve(&[name], &Catalog::embedded(), &registry::vocabulary(), &[])?;
    let config = SimConfig::of(kernels.first().ok_or("no such kernel")?)?;
    shortest(|| Ok(numalab_sim::run(machine, &workload, &config, 1, false)?))
}

fn counter(o: &Outcome, name: &str) -> f64 {
    o.counters.iter().find(|c| c.0 == name).map_or(0.0, |c| c.1 as f64)
}

fn print(what: &str, ns: f64, walk_ns: f64) {
    let ratio = ns / walk_ns;
    let missed = if ratio > TARGET { "   missed" } else { "" };
    println!("  {what:<24} {ns:>8.1} ns a page {ratio:>8.1} times the walk   <= {TARGET}{missed}");
}

fn main() -> Result<(), Box<dyn Error>> {
    let chunk =
        Chunk { present: [!0; 8], marked: [0; 8], node: [1; PER_CHUNK], last: [2; PER_CHUNK], frame: [3; PER_CHUNK] };
    let mut chunks = vec![chunk; PAGES / PER_CHUNK];
    walk(&mut chunks);
    let (walk_s, _) = shortest(|| {
        for _ in 0..WALKS {
            black_box(walk(black_box(&mut chunks)));
        }
        Ok(())
    })?;
    let walk_ns = walk_s * 1e9 / (PAGES * WALKS) as f64;
    println!("Distance from the limit");
    println!("  {:<24} {walk_ns:>8.1} ns a page", "walk without decisions");

    let machine = numalab_model::machine::load("2x1x1x1", &|_| None, &[])?;
    let (still_s, still) = run(&machine, "off", COMPUTE)?;
    print("first touch", still_s * 1e9 / counter(&still, "pgfault"), walk_ns);
    let (scan_s, scanned) = run(&machine, "6.1", COMPUTE)?;
    let scan_ns = (scan_s - still_s).max(0.0) * 1e9 / counter(&scanned, "numa_pte_updates").max(1.0);
    print("scan", scan_ns, walk_ns);
    let (plain_s, _) = run(&machine, "off", SWEEP)?;
    let (fault_s, faulted) = run(&machine, "6.1", SWEEP)?;
    let marks_s = counter(&faulted, "numa_pte_updates") * scan_ns / 1e9;
    let faults = counter(&faulted, "numa_hint_faults").max(1.0);
    print("hint fault", (fault_s - plain_s - marks_s).max(0.0) * 1e9 / faults, walk_ns);

    println!("State of memory");
    for nodes in [2, 8, 64] {
        let sizes = StateSizes::new(nodes, 2048);
        for (what, bytes, target) in
            [("page of 4 KiB", sizes.page(), STATE_BYTES[0]), ("idle huge page", sizes.huge_page(), STATE_BYTES[1])]
        {
            let missed = if bytes > target { "   missed" } else { "" };
            println!("  {what}, {nodes:>2} nodes {bytes:>10.2} bytes   <= {target}{missed}");
        }
    }
    Ok(())
}
