//! The locks that page faults of several threads meet, beside those of single address spaces: of zones and of LRU
//! lists, one per node; and how long threads have waited for which kind.

use crate::state::lock_line::LockLine;
use numalab_nouns::machine::Machine;

/// Locks whose waits are counted, as `/proc/lock_stat` names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    /// `&mm->mmap_lock`, taken for reading by a fault.
    Mmap,
    /// `&vma->vm_lock->lock` (6.4 on); a counter of the mapping from 6.15 on.
    Vma,
    /// `ptlock_ptr(page)`: the lock of one page table.
    PageTable,
    /// `&zone->lock`: a CPU refills its list of free pages.
    Zone,
    /// `&lruvec->lru_lock`: a CPU adds its batch to the list.
    Lru,
}

impl LockKind {
    /// All, with the counter of each.
    pub const COUNTERS: [(Self, &'static str); 5] = [
        (Self::Mmap, "mmap_lock_wait_ns"),
        (Self::Vma, "vma_lock_wait_ns"),
        (Self::PageTable, "ptlock_wait_ns"),
        (Self::Zone, "zone_lock_wait_ns"),
        (Self::Lru, "lru_lock_wait_ns"),
    ];
}

/// Locks of the machine, distances between nodes, and what was waited.
#[derive(Debug)]
pub struct FaultLocks {
    /// By node.
    pub zones: Vec<LockLine>,
    /// By node.
    pub lru: Vec<LockLine>,
    /// How long a line takes from node to node.
    pub distances: LineDistances,
    /// By kind, in the order of [`LockKind::COUNTERS`], ns.
    waited_ns: [u64; 5],
    /// Up to then slices that fault end with each bin, because a lock of the machine is in demand, ns.
    pub pressed_until_ns: u64,
    /// What the fault that is being handled has waited for the lock of its address space or mapping, ns.
    pub fault_waited_ns: u64,
}

impl FaultLocks {
    /// The locks of `machine`, all free.
    pub fn new(machine: &Machine) -> Self {
        let nodes = machine.node_count();
        let lines = || (0..nodes).map(|_| LockLine::new(nodes)).collect();
        Self {
            zones: lines(),
            lru: lines(),
            distances: LineDistances::new(machine),
            waited_ns: [0; 5],
            pressed_until_ns: 0,
            fault_waited_ns: 0,
        }
    }
    /// Counts a wait.
    #[inline]
    pub fn count(&mut self, kind: LockKind, ns: u64) {
        self.waited_ns[kind as usize] += ns;
    }
    /// Names and values of the counters of waits, ns.
    pub fn counters(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        LockKind::COUNTERS.iter().zip(self.waited_ns).map(|((_, name), ns)| ((*name).to_string(), ns))
    }
}

/// How long a line takes between CPUs of two nodes, in the mean over their LLCs.
#[derive(Debug)]
pub struct LineDistances {
    /// ns: `[to * nodes + from]`.
    between_ns: Vec<f64>,
    nodes: usize,
}

impl LineDistances {
    fn new(machine: &Machine) -> Self {
        let nodes = machine.node_count();
        Self { between_ns: (0..nodes * nodes).map(|i| mean_ns(machine, i / nodes, i % nodes)).collect(), nodes }
    }
    /// Latency of a line to `node` from each node, ns.
    pub fn ns_to(&self, node: usize) -> &[f64] {
        &self.between_ns[node * self.nodes..(node + 1) * self.nodes]
    }
}

/// Mean of the latencies between the LLCs of two nodes, ns; 0 if one of them has no CPU.
fn mean_ns(machine: &Machine, to: usize, from: usize) -> f64 {
    let of = |node: usize| (0..machine.llcs.len()).filter(move |&l| machine.llcs[l].node == node);
    let (mut sum, mut pairs) = (0.0, 0u32);
    for (a, b) in of(to).flat_map(|a| of(from).map(move |b| (a, b))) {
        sum += machine.core_to_core_ns(a, b);
        pairs += 1;
    }
    sum / f64::from(pairs.max(1))
}
