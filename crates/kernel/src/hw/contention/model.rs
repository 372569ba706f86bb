//! The contention model of one machine, and what can be asked of a solution.

use super::flow::{Flow, PageCopy, Rate};
use super::paths::Paths;
use super::solve::Solver;
use numalab_model::machine::Machine;

/// The shared resources of a machine and the last solution, from which the next one starts.
#[derive(Clone, Debug)]
pub struct Contention {
    paths: Paths,
    solver: Solver,
}

impl Contention {
    /// Resources of `machine`, all idle. Allocates everything [`Self::solve`] needs for one flow of each
    /// kind of traffic between every pair of nodes; more flows than that make its buffers grow once.
    pub fn new(machine: &Machine) -> Self {
        let paths = Paths::new(machine);
        let solver = Solver::new(&paths);
        Self { paths, solver }
    }

    /// Finds rates and latencies for the flows and copies of one epoch; results by [`Self::rates`] and
    /// the utilisation functions. Node and LLC indices must be those of the machine.
    pub fn solve(&mut self, flows: &[Flow], copies: &[PageCopy]) {
        self.solver.solve(&self.paths, flows, copies);
    }

    /// Result of the last [`Self::solve`], one per flow in its order.
    pub fn rates(&self) -> &[Rate] {
        &self.solver.rates
    }

    /// Whether solving the same flows and copies again would change nothing, not even a bit.
    pub fn is_settled(&self) -> bool {
        self.solver.is_settled()
    }

    /// Sweeps over the resources the last [`Self::solve`] took; for tests and measurements.
    pub fn sweeps(&self) -> u32 {
        self.solver.sweeps
    }

    /// Traffic of the node's DRAM in the last solution, GB/s, reads and writes of threads and copies.
    pub fn node_gbps(&self, node: usize) -> f64 {
        self.solver.traffic[self.paths.dram(node)]
    }

    /// Utilisation of the node's DRAM, 0..=0.96, write share and randomness included. Vectors 1 to 5 and 13 of machines.md
    /// section 8.4 state it; runs need the latencies and rates that follow from it.
    pub fn node_utilisation(&self, node: usize) -> f64 {
        self.solver.utilisation(&self.paths, self.paths.dram(node))
    }

    /// Requests' traffic over one direction of a link, GB/s; `forward` as in `Route::hops`.
    pub fn link_gbps(&self, link: usize, forward: bool) -> f64 {
        self.solver.traffic[self.paths.link(link, forward)]
    }

    /// Utilisation of one direction of a link, 0..=0.96; for vector 9, as [`Self::node_utilisation`].
    pub fn link_utilisation(&self, link: usize, forward: bool) -> f64 {
        self.solver.utilisation(&self.paths, self.paths.link(link, forward))
    }

    /// Latency a single further access from `src_node` to `dst_node` meets now, ns.
    pub fn latency_ns(&self, src_node: usize, dst_node: usize) -> f64 {
        self.solver.pair_latency_ns(&self.paths, src_node, dst_node)
    }

    /// [`Self::latency_ns`] relative to the idle machine, at least 1: what accesses of the kernel on a CPU of `cpu_node` to
    /// memory of `memory_node` are slowed down by. Not symmetric.
    pub fn latency_factor(&self, cpu_node: usize, memory_node: usize) -> f64 {
        self.latency_ns(cpu_node, memory_node) / self.paths.idle_ns(cpu_node, memory_node)
    }
}
