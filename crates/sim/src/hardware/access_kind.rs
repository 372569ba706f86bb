//! Kinds of access: what one thread asks of memory.

use numalab_kernel::hw::contention::{Flow, NO_LLC};
use numalab_kernel::hw::smt::{stream_share, Sibling, MAX_THREADS};
use numalab_nouns::access::Traffic;
use numalab_nouns::machine::Machine;
use numalab_nouns::workload::{Access, Op, Workload};

/// A kind of access that differs in what it asks of memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AccessKind {
    /// Lines in flight per thread.
    pub lines: f64,
    /// Cap of one thread, GB/s of traffic.
    pub cap_gbps: f64,
    /// Share of the traffic that is write-back.
    pub write: f64,
    /// Lines written back beside each line that the thread waits for ([`Flow::back`]).
    pub writebacks: f64,
    /// Random lines (bank conflicts).
    pub random: bool,
}

impl AccessKind {
    pub(crate) fn flow(&self, src: usize, dst: usize) -> Flow {
        Flow {
            src_node: src as u32,
            dst_node: dst as u32,
            llc: NO_LLC,
            threads: 0.0,
            kind_threads: 0.0,
            lines: self.lines,
            cap_gbps: self.cap_gbps,
            extra_ns: 0.0,
            write: self.write,
            writebacks: self.writebacks,
            random: self.random,
        }
    }
}

/// Kinds of an access by what the siblings do ([`Sibling::index`]).
#[derive(Clone, Copy, Debug, Default)]
pub struct KindSet(pub(crate) [u16; MAX_THREADS + 1]);

impl KindSet {
    /// Kind beside `sibling`.
    #[inline]
    pub fn beside(self, sibling: Sibling) -> usize {
        usize::from(self.0[sibling.index()])
    }
}

/// Most hardware threads of a core of a machine.
pub(crate) fn threads_per_core(machine: &Machine) -> usize {
    let mut threads = vec![0; machine.cores];
    machine.cpus.iter().for_each(|c| threads[c.core] += 1);
    threads.into_iter().max().unwrap_or(1)
}

/// The kinds of access that a workload makes, beside each sort of sibling.
pub(crate) fn all_kinds(machine: &Machine, workload: &Workload) -> Vec<AccessKind> {
    let threads = threads_per_core(machine);
    let mut kinds: Vec<AccessKind> = Vec::new();
    let mut add = |a: &Access| {
        for sibling in Sibling::all(threads) {
            let k = describe(machine, a, sibling);
            if !kinds.contains(&k) {
                kinds.push(k);
            }
        }
    };
    for p in &workload.processes {
        let programs = std::iter::once(&p.prologue).chain(p.threads.iter().map(|t| &t.ops));
        for ops in programs {
            for op in ops.iter() {
                if let Op::Access(a) = op {
                    add(a);
                }
            }
        }
    }
    kinds
}

/// The kind of an access beside a sibling.
pub(crate) fn describe(machine: &Machine, a: &Access, sibling: Sibling) -> AccessKind {
    let share = stream_share(sibling);
    // Latency-bound threads keep their lines beside a sibling; what they lose is in `smt::speed`.
    let (lines, random) = match a.pattern.traffic() {
        Traffic::Sequential => (machine.stream.lines_sequential * share, false),
        Traffic::Random => (machine.stream.lines_random, true),
        Traffic::Dependent => (1.0, true),
    };
    if let (true, Some(fill)) = (a.bypass, machine.cache.fill) {
        // Lines that are written and not read, and as many more of them under way than of a stream as it is faster.
        let lines = machine.stream.lines_sequential * fill.gbps / machine.stream.cap_gbps * share;
        return AccessKind { lines, cap_gbps: fill.gbps * share, write: 1.0, writebacks: 0.0, random: false };
    }
    let written = if machine.cache.writes_back { a.write } else { 0.0 };
    let write = written / (1.0 + written);
    let writebacks = if random { written } else { 0.0 };
    AccessKind { lines, cap_gbps: machine.stream.cap_gbps * share, write, writebacks, random }
}
