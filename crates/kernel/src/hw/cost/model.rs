//! Costs of faults, copies, migrations, scans and scheduling on one machine (machines.md section 4).

use super::socket_hops::SocketHops;
use crate::hw::tlb::{BASE_PAGE_BYTES, HUGE_PAGE_BYTES};
use numalab_base::base_page::BasePage;
use numalab_nouns::machine::{KernelCosts, Machine};

/// Base pages in a huge page.
pub const PAGES_PER_HUGE: u64 = HUGE_PAGE_BYTES / BASE_PAGE_BYTES;
/// Copying 2 MiB takes this part of 512 copies of 4 KiB. The costs of 4 KiB are 4096 B at 12 or 6 GB/s rounded up to
/// whole 50 ns; the costs of 2 MiB follow the rate itself (machines.md section 4).
const HUGE_COPY_PART: f64 = 0.975;

/// Rate at which a core clears a page whose lines are in its L2 cache, GB/s. Source: 256 pages in turn with `rep stosb`
/// on a core of Sapphire Rapids took 87 ns each; four pages, which fit the L1, took 24 ns.
const CLEAR_CACHED_GBPS: f64 = 47.0;

/// What one scan (`task_numa_work`) did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanWork {
    /// VMAs looked at.
    pub vmas: u64,
    /// PTEs visited and left alone.
    pub skipped_ptes: u64,
    /// PTEs made PROT_NONE.
    pub marked_ptes: u64,
    /// PMDs made PROT_NONE.
    pub marked_pmds: u64,
    /// Flushes at the ends of changed ranges.
    pub flushes: u64,
}

/// Operation costs of one machine.
#[derive(Clone, Debug)]
pub struct CostModel {
    pub(super) costs: KernelCosts,
    nodes: usize,
    page: BasePage,
    /// Copy of a base page on the idle machine, ns; index: from * nodes + to.
    copy_base_ns: Vec<f64>,
    /// Added to a minor fault on a page of another node, idle machine, ns; index: CPU node * nodes + page node.
    remote_fault_ns: Vec<f64>,
    /// Zeroing 2 MiB on the idle machine, ns; index: CPU node * nodes + page node.
    zero_2m_ns: Vec<f64>,
    pub(super) hops: SocketHops,
}

impl CostModel {
    /// The costs on `machine`, with base pages of 4 KiB.
    pub fn new(machine: &Machine) -> Self {
        Self::with_pages(machine, BasePage::Kib4)
    }

    /// The costs on `machine` with these base pages. What the machine states for 4 KiB, a larger page pays for its
    /// bytes: clearing at the rate of clearing, copies as huge pages do.
    pub fn with_pages(machine: &Machine, page: BasePage) -> Self {
        let costs = machine.costs;
        let pairs = |f: &dyn Fn(usize, usize) -> f64| {
            let n = machine.node_count();
            (0..n * n).map(|p| f(p / n, p % n)).collect::<Vec<f64>>()
        };
        Self {
            costs,
            nodes: machine.node_count(),
            page,
            copy_base_ns: pairs(&|from, to| idle_copy_ns(machine, from, to) * copies_of_4k(page)),
            remote_fault_ns: pairs(&|cpu, node| idle_remote_fault_ns(machine, (cpu, node), page.bytes())),
            zero_2m_ns: pairs(&|cpu, page| {
                let gbps = if cpu == page { costs.zero_local_gbps } else { costs.zero_remote_gbps };
                HUGE_PAGE_BYTES as f64 / gbps
            }),
            hops: SocketHops::new(machine),
        }
    }

    pub(super) fn pair(&self, a: usize, b: usize) -> usize {
        a * self.nodes + b
    }

    /// Copy of a base page from node `from` to node `to`, ns.
    pub fn copy_4k_ns(&self, from: usize, to: usize, slowdown: f64) -> f64 {
        self.copy_base_ns[self.pair(from, to)] * slowdown
    }

    /// Copy of a 2 MiB page from node `from` to node `to`, ns.
    pub fn copy_2m_ns(&self, from: usize, to: usize, slowdown: f64) -> f64 {
        self.copy_4k_ns(from, to, slowdown) * (PAGES_PER_HUGE as f64 * HUGE_COPY_PART)
    }

    /// Minor fault of an anonymous base page, ns: entry, allocation and zeroing. A page of another node adds two
    /// remote accesses and its transfer.
    pub fn minor_fault_ns(&self, cpu_node: usize, page_node: usize, slowdown: f64) -> f64 {
        self.local_fault_ns() + self.remote_fault_ns[self.pair(cpu_node, page_node)] * slowdown
    }

    /// Minor fault of a page of the own node, ns: the machine's figure is for 4 KiB.
    fn local_fault_ns(&self) -> f64 {
        let more = self.page.bytes() - BASE_PAGE_BYTES;
        self.costs.minor_fault_ns + more as f64 / self.costs.zero_local_gbps
    }

    /// The part of [`Self::minor_fault_ns`] that clears the page, ns: at the rate of clearing on the own node, and a
    /// page of another node with all that it adds.
    pub fn clear_4k_ns(&self, cpu_node: usize, page_node: usize, slowdown: f64) -> f64 {
        let local = self.page.bytes() as f64 / self.costs.zero_local_gbps;
        local.min(self.local_fault_ns()) + self.remote_fault_ns[self.pair(cpu_node, page_node)] * slowdown
    }

    /// As [`Self::clear_4k_ns`], for a page whose lines are in the CPU's cache, ns.
    pub fn clear_cached_4k_ns(&self) -> f64 {
        let bytes = self.page.bytes() as f64;
        (bytes / self.costs.zero_local_gbps).min(self.local_fault_ns()).min(bytes / CLEAR_CACHED_GBPS)
    }

    /// Time in which clearing memory of the own node replaces all lines of a cache of `bytes`, ns.
    pub fn replace_cache_ns(&self, bytes: u64) -> f64 {
        bytes as f64 / self.costs.zero_local_gbps
    }

    /// The part of [`Self::huge_fault_ns`] that clears the page, ns.
    pub fn clear_2m_ns(&self, cpu_node: usize, page_node: usize, slowdown: f64) -> f64 {
        self.zero_2m_ns[self.pair(cpu_node, page_node)] * slowdown
    }

    /// Fault of an anonymous 2 MiB page with zeroing, ns.
    pub fn huge_fault_ns(&self, cpu_node: usize, page_node: usize, slowdown: f64) -> f64 {
        self.costs.huge_fault_ns + self.zero_2m_ns[self.pair(cpu_node, page_node)] * slowdown
    }

    /// Copy-on-write fault of a base page that is copied from node `from` to node `to`, without the flush, ns.
    pub fn cow_fault_ns(&self, from: usize, to: usize, slowdown: f64) -> f64 {
        // The cost in the machine file contains a local copy on the idle machine.
        self.costs.cow_fault_ns - self.costs.copy_4k_local_ns + self.copy_4k_ns(from, to, slowdown)
    }

    /// Migration of one base page with its copy, without the flush (see [`shootdowns`](super::shootdowns)), ns.
    pub fn migrate_4k_ns(&self, from: usize, to: usize, slowdown: f64) -> f64 {
        self.costs.migrate_4k_ns + self.copy_4k_ns(from, to, slowdown)
    }

    /// Migration of a large folio of `pages` base pages with its copy, without the flush, ns. Each further entry is
    /// replaced and restored, at the cost of a copied entry each (estimate).
    pub fn migrate_folio_ns(&self, pages: u32, (from, to): (usize, usize), slowdown: f64) -> f64 {
        let more = f64::from(pages - 1) * (self.copy_4k_ns(from, to, slowdown) + 2.0 * self.costs.fork_pte_ns);
        self.migrate_4k_ns(from, to, slowdown) + more
    }

    /// Migration of one 2 MiB page as a whole with its copy, without the flush, ns.
    pub fn migrate_2m_ns(&self, from: usize, to: usize, slowdown: f64) -> f64 {
        self.costs.migrate_2m_ns + self.copy_2m_ns(from, to, slowdown)
    }

    /// Split of a huge page without the flush, ns.
    pub fn split_ns(&self) -> f64 {
        self.costs.split_ns
    }

    /// One scan (`task_numa_work` with change_prot_numa), ns; `flush_ns` is the initiator's time of one of its
    /// flushes.
    pub fn scan_ns(&self, work: &ScanWork, flush_ns: f64) -> f64 {
        let c = &self.costs;
        c.scan_ns
            + work.vmas as f64 * c.scan_vma_ns
            + work.skipped_ptes as f64 * c.pte_skip_ns
            + work.marked_ptes as f64 * c.pte_mark_ns
            + work.marked_pmds as f64 * c.pmd_mark_ns
            + work.flushes as f64 * flush_ns
    }

    /// Copy of page tables at fork without the flush, ns.
    pub fn fork_ns(&self, ptes: u64, pmds: u64) -> f64 {
        ptes as f64 * self.costs.fork_pte_ns + pmds as f64 * self.costs.fork_pmd_ns
    }

    /// Context switch to a task of the same or of another address space, ns.
    pub fn switch_ns(&self, same_process: bool) -> f64 {
        if same_process {
            self.costs.switch_same_ns
        } else {
            self.costs.switch_other_ns
        }
    }

    /// Time from wake-up to running on an idle CPU in a shallow idle state, ns.
    pub fn wake_ns(&self) -> f64 {
        self.costs.wake_ns
    }

    /// Time that a wake-up takes the waker, ns: choosing the CPU, queueing, and the interrupt. About a context switch
    /// (estimate).
    pub fn waker_ns(&self) -> f64 {
        self.costs.switch_same_ns
    }

    /// One scheduler tick, ns.
    pub fn tick_ns(&self) -> f64 {
        self.costs.tick_ns
    }

    /// One load-balance pass over a domain of `cpus` CPUs, ns.
    pub fn balance_ns(&self, cpus: u32) -> f64 {
        self.costs.balance_cpu_ns * f64::from(cpus)
    }
}

/// Copies of 4 KiB that take as long as the copy of a base page.
fn copies_of_4k(page: BasePage) -> f64 {
    match page {
        BasePage::Kib4 => 1.0,
        larger => (larger.bytes() / BASE_PAGE_BYTES) as f64 * HUGE_COPY_PART,
    }
}

/// Copy of 4 KiB on the idle machine, ns: the local cost inside a node, the remote cost between sockets. Between nodes
/// of a socket it is the local cost times the latency ratio, at most the remote cost (model).
fn idle_copy_ns(machine: &Machine, from: usize, to: usize) -> f64 {
    let (local, remote) = (machine.costs.copy_4k_local_ns, machine.costs.copy_4k_remote_ns);
    if from == to {
        return local;
    }
    // The distance of memory without CPUs is its latency, also from the CPUs of its own socket.
    let cpu = if machine.nodes[to].cpus.is_empty() { from } else { to };
    if machine.nodes[from].socket != machine.nodes[to].socket || machine.nodes[cpu].cpus.is_empty() {
        return remote;
    }
    let other = if cpu == to { from } else { to };
    (local * machine.latency_ns[cpu][other] / machine.latency_ns[cpu][cpu]).min(remote)
}

/// `2 (L_remote - L_local)` plus the bytes of a page at the rate of the narrowest link, ns.
fn idle_remote_fault_ns(machine: &Machine, (cpu, page): (usize, usize), bytes: u64) -> f64 {
    if cpu == page || machine.nodes[cpu].cpus.is_empty() {
        return 0.0;
    }
    let lines_ns = 2.0 * (machine.latency_ns[cpu][page] - machine.latency_ns[cpu][cpu]).max(0.0);
    let link_gbps = machine.routes[cpu][page]
        .iter()
        .flat_map(|route| route.hops.iter().map(move |(link, _)| (route.share, *link)))
        .filter(|(share, _)| *share > 0.0)
        .map(|(share, link)| machine.links[link].sustained_gbps / share)
        .fold(f64::INFINITY, f64::min);
    lines_ns + bytes as f64 / link_gbps
}
