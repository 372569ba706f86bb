//! Blocks anywhere in a span, beside the other ops of a round: how long a line takes, and how often it comes to a page.
//!
//! Problem: a server reads some stretches of its pool for each request. In turn, each of them is a sweep of its own.
//! Approach: side by side with the other ops of a round ([`rounds`](crate::access::rounds)), only the mean matters. So
//! a line of a block is an access as a random one is, at the pace of a sweep over pages that lie as those of the span.
//! What is left out: pages of one block fault one after the other in a sweep, and each by itself here.

use crate::access::access_cost::{sweep_costs, AccessCost, SweepCosts};
use crate::float::LINE_BYTES;
use crate::state::simulation::Simulation;
use numalab_kernel::mm::Vma;
use numalab_nouns::workload::Access;

/// An access by blocks, for a slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScatteredBlocks {
    costs: SweepCosts,
    /// Pages that a line comes to: that of a page is one of its lines.
    pub(crate) pages_per_line: f64,
}

/// Times of a line of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineTimes {
    /// From one line to the next, ns.
    pub(crate) line_ns: f64,
    /// How long a line that comes from memory occupies it, ns.
    pub(crate) memory_ns: f64,
}

impl ScatteredBlocks {
    /// How the blocks of `a` proceed; `None` if it does not go by blocks.
    pub(crate) fn of(sim: &Simulation<'_>, pace: &AccessCost, a: &Access, vma: &Vma) -> Option<Self> {
        let lines = a.pattern.scattered_block_bytes()? as f64 / LINE_BYTES as f64;
        // The first line of a block on a huge page deals with all of it; of base pages each has its own.
        let of_base_page = (vma.grain.bytes() as f64 / LINE_BYTES as f64).min(lines);
        let huge = vma.huge_share();
        let pages_per_line = huge / lines + (1.0 - huge) / of_base_page;
        Some(Self { costs: sweep_costs(sim, pace, a), pages_per_line })
    }

    /// Share of a line that is fetched from memory; more than one where writes come back.
    pub(crate) fn missing(&self) -> f64 {
        self.costs.traffic()
    }

    /// Times of a line, where a byte of memory takes `byte_ns` and a share `zeros` of the pages shows zeros.
    pub(crate) fn times(&self, byte_ns: f64, zeros: f64) -> LineTimes {
        let line = LINE_BYTES as f64;
        let (there, nothing) = (self.costs.times(byte_ns, 1), self.costs.times(0.0, 0));
        let per_byte = (1.0 - zeros) * there.per_byte + zeros * nothing.per_byte;
        LineTimes { line_ns: line * per_byte, memory_ns: (1.0 - zeros) * line * byte_ns }
    }
}
