//! Kinds of access: what one thread asks of memory.

use numalab_kernel::hw::contention::{Flow, NO_LLC};
use numalab_kernel::hw::smt::{Sibling, MAX_THREADS};
use numalab_nouns::machine::Machine;

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
