//! The state of NUMA balancing. The modules above add its operations.

use super::config::NumaConfig;
use super::counters::{NumaCounters, NumaReasons};
use super::group::Groups;
use super::rate_limit::NodeLimit;
use super::state::{MmNuma, TaskNuma};
use super::tiering::NodePromotion;
use super::topology::NumaTopology;

/// All state of NUMA balancing in a run.
#[derive(Clone, Debug)]
pub struct NumaBalancing {
    /// Settings of the kernel.
    pub cfg: NumaConfig,
    /// Topology of the machine.
    pub topo: NumaTopology,
    /// Tasks by index.
    pub tasks: Vec<TaskNuma>,
    /// Address spaces by index.
    pub mms: Vec<MmNuma>,
    /// NUMA groups.
    pub groups: Groups,
    /// Counters with the kernel's names.
    pub counters: NumaCounters,
    /// Counts of skips, refusals and moves by reason.
    pub reasons: NumaReasons,
    /// Promotion state by target node.
    pub promotion: Vec<NodePromotion>,
    /// State of the legacy rate limit by target node.
    pub limits: Vec<NodeLimit>,
}

impl NumaBalancing {
    /// NUMA balancing of a system without tasks.
    pub fn new(cfg: NumaConfig, topo: NumaTopology) -> Self {
        let nodes = topo.nodes();
        Self {
            cfg,
            topo,
            tasks: Vec::new(),
            mms: Vec::new(),
            groups: Groups::default(),
            counters: NumaCounters::default(),
            reasons: NumaReasons::default(),
            promotion: vec![NodePromotion::default(); nodes],
            limits: vec![NodeLimit::default(); nodes],
        }
    }
}
