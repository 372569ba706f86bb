//! State of the daemon that balances from user space.

use numalab_kernel::numa::topology::NumaTopology;
use numalab_kernel::userspace_balance::{Balancer, Settings, UserspaceTunables};
use numalab_nouns::machine::Machine;

/// The daemon: its decisions, and what it has seen and done.
#[derive(Debug)]
pub struct UserspaceBalance {
    /// Its tunables.
    pub cfg: UserspaceTunables,
    /// Its decisions.
    pub balancer: Balancer,
    /// CPU time of each task at the last look, ns.
    pub runtime_ns: Vec<u64>,
    /// Tasks whose affinity the daemon has set.
    pub placed: Vec<bool>,
}

impl UserspaceBalance {
    /// The daemon of a machine; `None` if it does not run.
    pub fn new(cfg: UserspaceTunables, machine: &Machine, topology: NumaTopology) -> Option<Box<Self>> {
        let llc_cpus = machine.nodes.iter().map(|n| match n.cpus.first() {
            Some(&cpu) => machine.cpus.iter().filter(|c| c.llc == machine.cpus[cpu].llc).count() as u32,
            None => 0,
        });
        let balancer = Balancer::new(topology, llc_cpus.collect(), Settings::default());
        (cfg.interval_ms > 0).then(|| Box::new(Self { cfg, balancer, runtime_ns: Vec::new(), placed: Vec::new() }))
    }
}
