//! How an access proceeds during a slice: where its lines come from, and what that costs per byte.

use numalab_kernel::hw::smt::{self, Sibling};
use numalab_kernel::mm::{Vma, CHUNK_BYTES, PAGE_BYTES};

/// How an access proceeds during a slice.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Kind of traffic.
    pub kind: usize,
    /// Where its requests enter the memory system.
    pub place: usize,
    /// Number of its span, if accessed at random.
    pub span: u32,
    /// Share of its lines found in the L2.
    pub l2: f64,
    /// Share found in the LLC.
    pub llc: f64,
    /// Share of its misses that it fetches itself; the others are handed on by threads that sweep along.
    pub fetched: f64,
    /// Time per line until it is this core's turn to write it, ns.
    pub turn_ns: f64,
    /// Share of the mapped pages that show zeros (random accesses).
    pub zeros: f64,
    /// What the other hardware thread does.
    pub sibling: Sibling,
    /// Clock of the core relative to the sustained one.
    pub boost: f64,
}

impl Pace {
    /// Share of its lines that come from memory.
    pub fn missing(&self) -> f64 {
        1.0 - self.l2 - self.llc
    }
}

/// What a sweep meets next in the chunk that it is in.
#[derive(Clone, Copy, Debug)]
pub struct Ahead {
    /// The chunk.
    pub chunk: usize,
    /// Where it begins, a virtual address.
    pub base: u64,
    /// First page ahead, counted in the chunk.
    pub lo: usize,
    /// Next page that faults, if one does before the run or the chunk ends.
    pub fault: Option<usize>,
    /// Up to where nothing faults, a virtual address.
    pub clear: u64,
}

impl Ahead {
    /// From `addr` on, of a run of `left` bytes; `passed` may be accessed this once.
    #[inline]
    pub fn of(vma: &Vma, addr: u64, left: u64, write: bool, passed: Option<usize>) -> Self {
        let chunk = vma.chunk_of(addr);
        let base = vma.chunk_base(chunk);
        let stop = (base + CHUNK_BYTES).min(addr + left);
        let lo = ((addr - base) / PAGE_BYTES) as usize;
        let hi = (stop - base).div_ceil(PAGE_BYTES) as usize;
        let mut fault = vma.next_fault(chunk, lo, hi, write);
        if fault.is_some() && fault == passed {
            fault = vma.next_fault(chunk, lo + 1, hi, write);
        }
        let clear = fault.map_or(stop, |p| addr.max(base + p as u64 * PAGE_BYTES));
        Self { chunk, base, lo, fault, clear }
    }
}

/// What a sweep costs apart from where its pages lie.
#[derive(Clone, Copy, Debug)]
pub struct SweepCosts {
    /// Bytes of memory traffic per byte swept.
    pub missing: f64,
    /// Share of that which the thread fetches itself.
    pub fetched: f64,
    /// Time per byte on what the caches hold, ns.
    pub cached: f64,
    /// The same where there is no page, ns: such entries show zeros, which the L2 holds.
    pub zeros: f64,
    /// Computing per byte with the core alone, and beside the sibling without any wait, ns.
    pub alone: f64,
    /// The latter.
    pub longest: f64,
    /// What the other hardware thread does.
    pub sibling: Sibling,
}

/// Times of a sweep over pages that lie in one way.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Time per byte, ns.
    pub per_byte: f64,
    /// The part of it spent on memory, for lines that it fetches itself.
    pub memory: f64,
    /// What `Rates::ns_of_pages` says of the pages.
    pub of_pages: f64,
}

impl SweepCosts {
    /// Times over `present` pages of which `ns_of_pages` is `of_pages`; over zeros if none is present.
    #[inline]
    pub fn times(&self, of_pages: f64, present: u16) -> Times {
        let (memory, waiting) = if present == 0 {
            (0.0, self.zeros)
        } else {
            let memory = self.missing * (of_pages / f64::from(present));
            (memory, memory + self.cached)
        };
        // Computing is never slower than without a wait: usually memory alone decides.
        if waiting >= self.longest {
            return Times { per_byte: waiting, memory: memory * self.fetched, of_pages };
        }
        let stalled = smt::memory_share(self.alone, (waiting - self.alone).max(0.0));
        let per_byte = waiting.max(self.alone / smt::speed(stalled, self.sibling));
        Times { per_byte, memory: memory * self.fetched, of_pages }
    }
}

/// Times of the last chunk that lay on one node, which are those of the next one there: nothing that they depend on
/// changes inside a slice, and most chunks lie on one node.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Its node and pages.
    chunk: (usize, u16),
    times: Times,
}

impl Known {
    /// Of no chunk yet.
    pub const NONE: Self = Self { chunk: (0, u16::MAX), times: Times { per_byte: 0.0, memory: 0.0, of_pages: 0.0 } };
    /// The times of a chunk with pages spread as `counts`, worked out by `f` if they are not known, and the node that all
    /// of them lie on, if one does.
    #[inline]
    pub fn or_else(
        &mut self,
        counts: &[u16],
        present: u16,
        f: impl FnOnce(&[u16], u16) -> Times,
    ) -> (Times, Option<usize>) {
        let (node, pages) = self.chunk;
        if pages == present && counts[node] == present {
            return (self.times, Some(node));
        }
        let times = f(counts, present);
        let node = counts.iter().position(|&c| c == present);
        if let Some(node) = node {
            *self = Self { chunk: (node, present), times };
        }
        (times, node)
    }
}

/// `n` below 2^63 as a float: the conversion of a signed number is one instruction, that of an unsigned one ten.
#[inline]
pub fn real(n: u64) -> f64 {
    debug_assert!(n >> 63 == 0);
    n as i64 as f64
}

/// The whole part of `x`, which is from 0 to below 2^63, for the same reason.
#[inline]
pub fn whole(x: f64) -> u64 {
    debug_assert!((0.0..9.2e18).contains(&x));
    x as i64 as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The short way is the long way wherever it is taken.
    #[test]
    fn memory_alone_decides_from_the_longest_time_of_computing_on() {
        for sibling in [Sibling::Idle, Sibling::Spinning, Sibling::Working] {
            let alone = 0.3;
            let longest = alone / smt::speed(0.0, sibling);
            for step in 0..2000u32 {
                let of_pages = f64::from(step) * 0.001;
                let c = SweepCosts { missing: 1.0, fetched: 1.0, cached: 0.01, zeros: 0.02, alone, longest, sibling };
                let waiting = of_pages / 3.0 + 0.01;
                let stalled = smt::memory_share(alone, (waiting - alone).max(0.0));
                let want = waiting.max(alone / smt::speed(stalled, sibling));
                assert_eq!(c.times(of_pages, 3).per_byte, want, "{sibling:?} {step}");
            }
        }
    }
}
