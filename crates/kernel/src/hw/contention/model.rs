//! The contention model of one machine, and the results of its last solution.

use super::flow::{Flow, PageCopy, Rate};
use super::paths::Paths;
use super::solve::{each_crossing, Solver};
use numalab_nouns::machine::Machine;

/// The shared resources of a machine and the last solution, which is the start of the next one.
#[derive(Clone, Debug)]
pub struct Contention {
    paths: Paths,
    solver: Solver,
}

impl Contention {
    /// The resources of `machine`, all idle. Allocates what [`Self::solve`] needs for one flow of each kind of traffic
    /// between every pair of nodes. With more flows the buffers grow once.
    pub fn new(machine: &Machine) -> Self {
        let paths = Paths::new(machine);
        let solver = Solver::new(&paths);
        Self { paths, solver }
    }

    /// Finds rates and latencies for the flows and copies of one epoch. [`Self::rates`] and the utilisation functions
    /// return the results. Node and LLC indices must be those of the machine.
    pub fn solve(&mut self, flows: &[Flow], copies: &[PageCopy]) {
        self.solver.solve(&self.paths, flows, copies);
    }

    /// As [`Self::solve`], for flows of which all but `busy`, in ascending order, have no threads. On a large machine
    /// most pairs of nodes have none. The flows are those of the last solution, with other threads and lines: where
    /// one comes from and goes to may change only with their number. [`Self::rate`] gives the results; [`Self::rates`]
    /// does not.
    pub fn solve_busy(&mut self, flows: &[Flow], busy: &[u32], copies: &[PageCopy]) {
        self.solver.solve_busy(&self.paths, flows, busy, copies);
    }

    /// Rate of flow number `i`, which is `flow`, in the last solution.
    #[inline]
    pub fn rate(&self, i: usize, flow: &Flow) -> Rate {
        self.solver.rate(&self.paths, i, flow)
    }

    /// Rates of the last [`Self::solve`], one per flow, in the order of the flows.
    pub fn rates(&self) -> &[Rate] {
        &self.solver.rates
    }

    /// Whether solving the same flows and copies again gives the same result to the last bit.
    pub fn is_settled(&self) -> bool {
        self.solver.is_settled()
    }

    /// Sweeps over the resources that the last [`Self::solve`] took. Tests and measurements read it.
    pub fn sweeps(&self) -> u32 {
        self.solver.sweeps
    }

    /// Traffic of the node's DRAM in the last solution, GB/s: reads and writes of threads and copies.
    pub fn node_gbps(&self, node: usize) -> f64 {
        self.solver.traffic[self.paths.dram(node)]
    }

    /// Utilisation of the node's DRAM, 0..=0.96, with the weights of writes and random lines. Vectors 1 to 5 and 13 of
    /// machines.md section 8.4 give it.
    pub fn node_utilisation(&self, node: usize) -> f64 {
        self.solver.utilisation(&self.paths, self.paths.dram(node))
    }

    /// Traffic of requests over one direction of a link, GB/s; `forward` as in `Route::hops`.
    pub fn link_gbps(&self, link: usize, forward: bool) -> f64 {
        self.solver.traffic[self.paths.link(link, forward)]
    }

    /// Utilisation of one direction of a link, 0..=0.96; vector 9 of machines.md section 8.4 gives it.
    pub fn link_utilisation(&self, link: usize, forward: bool) -> f64 {
        self.solver.utilisation(&self.paths, self.paths.link(link, forward))
    }

    /// Number of resources: nodes' memories, both directions of every link, and cache ports.
    pub fn resources(&self) -> usize {
        self.paths.resources.len()
    }

    /// Sustained bandwidth of a resource, GB/s; infinite without a limit.
    pub fn bandwidth_gbps(&self, resource: usize) -> f64 {
        self.paths.resources[resource].gbps
    }

    /// Whether a resource is the memory of a node, where writes and random lines weigh more.
    pub fn is_memory(&self, resource: usize) -> bool {
        self.paths.resources[resource].dram
    }

    /// Resources that flow number `i` of the last solution crosses, each with the share of its bytes.
    #[inline]
    pub fn crossings(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.solver.crossings(i)
    }

    /// Calls `f` with each resource that the bytes of a copy cross, the share of them, and how often a byte counts
    /// there.
    #[inline]
    pub fn copy_crossings(&self, copy: &PageCopy, f: impl FnMut(usize, f64, f64)) {
        each_crossing(&self.paths, copy, f);
    }

    /// Latency of one further access from `src_node` to `dst_node` under the load of the last solution, ns.
    pub fn latency_ns(&self, src_node: usize, dst_node: usize) -> f64 {
        self.solver.pair_latency_ns(&self.paths, src_node, dst_node)
    }

    /// [`Self::latency_ns`] relative to the idle machine, at least 1. Kernel accesses from a CPU of `cpu_node` to
    /// memory of `memory_node` slow down by this factor. Not symmetric.
    pub fn latency_factor(&self, cpu_node: usize, memory_node: usize) -> f64 {
        self.latency_ns(cpu_node, memory_node) / self.paths.idle_ns(cpu_node, memory_node)
    }
}
