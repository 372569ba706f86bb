//! TLB shoot-downs: who is interrupted, what it costs, and which operation needs one.
//!
//! The initiator pays `t0 + a0 n_socket + a1 n_1hop + a2 n_2hop`, each target an interrupt, and more if
//! its whole TLB is emptied (machines.md section 5). CPUs that do not run the address space now, or run
//! it lazily, are not targets.
//!
//! Whether a flush is needed turns on one thing: could a CPU hold the old translation? An entry marked
//! PROT_NONE was flushed when it was marked, so unmapping it needs no second flush, unless a marking
//! of the same address space is still under way and its flush yet to come.

use super::CostModel;
use numalab_model::machine::Machine;

/// Flushes of more pages than this empty the whole TLB (tlb_single_page_flush_ceiling).
pub const FULL_FLUSH_PAGES: u64 = 33;
/// Flush of the own TLB when no other CPU runs the address space, ns.
const LOCAL_FLUSH_NS: f64 = 200.0;

numalab_base::tunables! {
    /// How this kernel's page migration flushes.
    pub struct FlushRules: "flush" {
        /// Batched migration flushes inaccessible (PROT_NONE) entries too, so that every hint-fault migration pays one
        /// shoot-down: 6.3 (7e12beb8ca2a) until 6.5 (4d4b6d66db63).
        migrate_flush_inaccessible: bool = false, "", "model";
        /// migrate_pages unmaps in batches with one flush each (6.3 on) instead of one per page.
        migrate_batch_flush: bool = true, "", "model";
    }
}

/// An operation on page-table entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushOp {
    /// A scan made the PMD of a huge page PROT_NONE (invalidated and flushed at once).
    MarkHuge,
    /// End of a range in which a scan made `changed` PTEs PROT_NONE.
    MarkRange {
        /// PTEs changed.
        changed: u64,
    },
    /// A hint fault made an entry accessible again.
    HintRestore,
    /// Migration of a 4 KiB page by its hint fault (the entry is PROT_NONE).
    HintMigrateBase,
    /// Migration of mapped, accessible 4 KiB pages: compaction, mbind, demotion.
    MigrateBase {
        /// Pages unmapped together.
        pages: u64,
    },
    /// Migration of a 2 MiB page, by hint fault or otherwise (its PMD is invalidated first).
    MigrateHuge,
    /// Collapse of 512 pages into a huge one.
    CollapseHuge,
    /// Split of a huge page.
    SplitHuge,
    /// Copy-on-write fault that replaced a readable entry.
    CowReplace,
    /// Copy-on-write fault of the last owner: the entry only becomes writable.
    CowReuse,
    /// Fork that write-protected `changed` entries of the parent.
    ForkProtect {
        /// Entries changed.
        changed: u64,
    },
    /// Unmapping for reclaim, MADV_DONTNEED or munmap of `mapped` present entries, gathered into one flush.
    Unmap {
        /// Entries that were present.
        mapped: u64,
    },
}

/// Number of shoot-downs the operation needs. `protect_pending`: another change_protection of the same
/// address space is under way (mm_tlb_flush_pending).
pub fn shootdowns(op: FlushOp, rules: &FlushRules, protect_pending: bool) -> u64 {
    match op {
        FlushOp::HintRestore | FlushOp::CowReuse => 0,
        FlushOp::HintMigrateBase => u64::from(rules.migrate_flush_inaccessible || protect_pending),
        FlushOp::MigrateBase { pages } if rules.migrate_batch_flush => u64::from(pages > 0),
        FlushOp::MigrateBase { pages } => pages,
        FlushOp::MarkHuge | FlushOp::MigrateHuge | FlushOp::CollapseHuge | FlushOp::SplitHuge => 1,
        FlushOp::CowReplace => 1,
        FlushOp::MarkRange { changed } | FlushOp::ForkProtect { changed } => u64::from(changed > 0),
        FlushOp::Unmap { mapped } => u64::from(mapped > 0),
    }
}

/// Whether a flush of a range of `pages` base pages empties whole TLBs.
pub fn is_full_flush(pages: u64) -> bool {
    pages > FULL_FLUSH_PAGES
}

/// Other CPUs that run the address space, by distance from the initiator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    /// On the initiator's socket.
    pub socket: u32,
    /// On sockets one hop away.
    pub hop1: u32,
    /// On sockets further away.
    pub hop2: u32,
}

impl Targets {
    /// All of them.
    pub fn count(&self) -> u32 {
        self.socket + self.hop1 + self.hop2
    }
}

/// What one shoot-down costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shootdown {
    /// Time of the initiator, ns.
    pub initiator_ns: f64,
    /// Time each target loses, ns.
    pub target_ns: f64,
    /// Number of targets.
    pub targets: u32,
}

/// Hops between the sockets of nodes: 0 same socket, 1 the nearest other sockets, 2 the rest.
#[derive(Clone, Debug)]
pub(super) struct SocketHops {
    by_pair: Vec<u8>,
}

impl SocketHops {
    pub(super) fn new(machine: &Machine) -> Self {
        let n = machine.node_count();
        let same = |i: usize, j: usize| machine.nodes[i].socket == machine.nodes[j].socket;
        let pairs = || (0..n * n).map(|p| (p / n, p % n));
        // Hop classes also tell nodes of a socket apart, so one hop is the least class between sockets.
        let nearest = pairs().filter(|(i, j)| !same(*i, *j)).map(|(i, j)| machine.hop[i][j]).min();
        let hops = |(i, j): (usize, usize)| match nearest {
            _ if same(i, j) => 0,
            Some(least) if machine.hop[i][j] > least => 2,
            _ => 1,
        };
        Self { by_pair: pairs().map(hops).collect() }
    }
}

impl CostModel {
    /// Targets of a shoot-down from a CPU of `node`, from the number of *other* CPUs that run the
    /// address space on each node.
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

    /// Cost of one synchronous flush of `pages` base pages at `targets`.
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
