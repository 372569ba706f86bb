//! Automatic NUMA balancing: scan address spaces, take hint faults, move pages to tasks and tasks to pages.
//!
//! # Problem
//! A kernel that wants memory near its users must learn who uses it. It periodically takes access to pages away
//! (PROT_NONE), so that the next access faults; from these *hint faults* it keeps statistics per task and group,
//! migrates pages towards tasks and tasks towards pages, and adapts how often it looks.
//!
//! # Approach
//! Pure decisions: no clock, no I/O. The caller owns page tables ([`scan::ScanSpace`]), scheduler ([`TaskHost`]) and
//! time, calls in at the places the kernel does, and charges the costs:
//!
//! | moment | call |
//! |---|---|
//! | tick of a running task | [`tick`], and if true, at return to user mode: [`scan_work`], charge, [`scan_done`] |
//! | access to a PROT_NONE entry | [`hint_fault_decide`], perhaps [`prepare_migration`] and the move, [`hint_fault_done`] |
//! | store to an entry that lost write permission | [`write_fault`] |
//! | fork, exec, exit | [`fork`], [`exec`], [`exit`] |
//! | a task changes CPU | [`migration_happened`] |
//! | load balance | the balancer asks itself, through [`NumaView`](crate::sched::NumaView) (see [`balancer`]) |
//!
//! [`tick`]: NumaBalancing::tick
//! [`scan_work`]: NumaBalancing::scan_work
//! [`scan_done`]: NumaBalancing::scan_done
//! [`hint_fault_decide`]: NumaBalancing::hint_fault_decide
//! [`prepare_migration`]: NumaBalancing::prepare_migration
//! [`hint_fault_done`]: NumaBalancing::hint_fault_done
//! [`write_fault`]: NumaBalancing::write_fault
//! [`fork`]: NumaBalancing::fork
//! [`exec`]: NumaBalancing::exec
//! [`exit`]: NumaBalancing::exit
//! [`migration_happened`]: NumaBalancing::migration_happened
//!
//! Releases differ by switches ([`config`]); variants are one file each in `vma_filter`, `page_filter`, `period`,
//! `imbalance` and `fault/should_migrate`. The rules are those of the specification kernel-numa-balancing.md, whose
//! sections (§) are cited throughout.
//!
//! The two designs of 2012, AutoNUMA and schednuma, are mechanisms of their own, in [`autonuma`] and [`schednuma`];
//! [`design`] says which fills which role.
//!
//! # Units and invariants
//! Time in jiffies ([`time::Jiffies`]), runtime in ns, periods in ms of runtime, memory in pages of 4 KiB. Tasks, mms,
//! nodes and CPUs are dense indices. Arithmetic has the kernel's widths. Nothing here depends on hash order or floats,
//! and nothing allocates after a task's first recorded fault.

pub mod autonuma;
pub mod balancer;
pub mod config;
pub mod counters;
pub mod design;
pub mod fault;
pub mod fork;
pub mod group;
pub mod host;
pub mod imbalance;
pub mod mark;
pub mod migrate;
pub mod page;
pub mod page_filter;
pub mod period;
pub mod placement;
pub mod rate_limit;
pub mod scan;
pub mod schednuma;
pub mod state;
pub mod tiering;
pub mod time;
pub mod topology;
pub mod vma_filter;
pub mod weights;

pub use config::{NumaConfig, NumaSettings};
pub use counters::{NumaCounters, NumaReasons};
pub use design::Design;
pub use fault::{FaultSite, MigrateResult};
pub use group::Groups;
pub use host::TaskHost;
pub use mark::MarkRules;
pub use page::PageFacts;
pub use scan::{ScanArgs, ScanSpace};
pub use state::{LastCpupid, MmNuma, TaskNuma, VmaNuma};
pub use topology::NumaTopology;

use rate_limit::NodeLimit;
use tiering::NodePromotion;

/// All state of NUMA balancing in a run.
#[derive(Clone, Debug)]
pub struct NumaBalancing {
    /// Settings.
    pub cfg: NumaConfig,
    /// The machine.
    pub topo: NumaTopology,
    /// Tasks by dense index.
    pub tasks: Vec<TaskNuma>,
    /// Address spaces by dense index.
    pub mms: Vec<MmNuma>,
    /// NUMA groups.
    pub groups: Groups,
    /// Counters with the kernel's names.
    pub counters: NumaCounters,
    /// Reasons of skips, refusals and moves.
    pub reasons: NumaReasons,
    /// Promotion state by target node.
    pub promotion: Vec<NodePromotion>,
    /// Legacy rate limit by target node.
    pub limits: Vec<NodeLimit>,
}

impl NumaBalancing {
    /// An idle system without tasks.
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
