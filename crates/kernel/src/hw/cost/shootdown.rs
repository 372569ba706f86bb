//! What a TLB shoot-down costs the CPU that starts it and the CPUs that it interrupts (machines.md section 5).
//!
//! The initiator pays `t0 + a0 n_socket + a1 n_1hop + a2 n_2hop`. Each target pays an interrupt, and more if its whole
//! TLB is emptied. CPUs that do not run the address space now, or run it lazily, are not targets.

use super::model::CostModel;

/// Largest number of pages that a flush invalidates one by one; a larger flush empties the whole TLB
/// (tlb_single_page_flush_ceiling).
pub const FULL_FLUSH_PAGES: u64 = 33;
/// Local flush when no other CPU runs the address space, ns.
const LOCAL_FLUSH_NS: f64 = 200.0;

/// Whether a flush of `pages` base pages empties whole TLBs.
pub fn is_full_flush(pages: u64) -> bool {
    pages > FULL_FLUSH_PAGES
}

/// Number of other CPUs that run the address space, by distance from the initiator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    /// On the initiator's socket.
    pub socket: u32,
    /// On sockets one hop away.
    pub hop1: u32,
    /// On sockets farther away.
    pub hop2: u32,
}

impl Targets {
    /// Number of all targets.
    pub fn count(&self) -> u32 {
        self.socket + self.hop1 + self.hop2
    }
}

/// What one shoot-down costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shootdown {
    /// Time of the initiator, ns.
    pub initiator_ns: f64,
    /// Time that each target loses, ns.
    pub target_ns: f64,
    /// Number of targets.
    pub targets: u32,
}

impl CostModel {
    /// Targets of a shoot-down from a CPU of `node`; `others` is the number of other CPUs that run the address space,
    /// by node.
    pub fn targets_by_node(&self, node: usize, others: &[u32]) -> Targets {
        let mut targets = Targets::default();
        for (other, count) in others.iter().enumerate() {
            match self.hops.by_pair[self.pair(node, other)] {
                0 => targets.socket += count,
                1 => targets.hop1 += count,
                _ => targets.hop2 += count,
            }
        }
        targets
    }

    /// Cost of one synchronous flush of `pages` base pages on `targets`.
    pub fn shootdown(&self, targets: Targets, pages: u64) -> Shootdown {
        let c = &self.costs;
        let count = targets.count();
        let initiator_ns = if count == 0 {
            LOCAL_FLUSH_NS
        } else {
            c.flush_base_ns
                + c.flush_socket_ns * f64::from(targets.socket)
                + c.flush_hop1_ns * f64::from(targets.hop1)
                + c.flush_hop2_ns * f64::from(targets.hop2)
        };
        let refill_ns = if is_full_flush(pages) { c.flush_refill_ns } else { 0.0 };
        Shootdown { initiator_ns, target_ns: c.flush_target_ns + refill_ns, targets: count }
    }
}
