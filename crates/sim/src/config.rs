//! What a run needs to know of its kernel, in typed form.

use crate::process::Thp;
use numalab_kernel::hw::cost::FlushRules;
use numalab_kernel::numa::{Design, NumaConfig, NumaSettings};
use numalab_kernel::sched::SchedConfig;

/// Settings of a run, resolved.
#[derive(Clone, Debug)]
pub struct SimConfig {
    /// NUMA balancing.
    pub numa: NumaConfig,
    /// Scheduler.
    pub sched: SchedConfig,
    /// Who needs a TLB flush.
    pub flush: FlushRules,
    /// Huge pages for anonymous memory.
    pub thp: Thp,
    /// The designs of 2012.
    pub design: Design,
}

impl SimConfig {
    /// Resolves settings; the tick rate is the scheduler's.
    ///
    /// # Errors
    /// A setting outside its declaration, as a sentence.
    pub fn new(numa: &NumaSettings, sched: &SchedConfig, flush: FlushRules, thp: Thp) -> Result<Self, String> {
        let numa = numa.resolve(sched.hz).map_err(|e| e.to_string())?;
        Ok(Self { numa, sched: *sched, flush, thp, design: Design::default() })
    }
    /// The same with roles filled by the designs of 2012.
    pub fn with_design(self, design: Design) -> Self {
        Self { design, ..self }
    }
    /// Length of a jiffy, ns.
    #[inline]
    pub fn jiffy_ns(&self) -> u64 {
        1_000_000_000 / u64::from(self.sched.hz)
    }
    /// NUMA balancing is on in some mode.
    #[inline]
    pub fn numa_enabled(&self) -> bool {
        self.numa.enabled()
    }
}
