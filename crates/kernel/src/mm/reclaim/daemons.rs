//! State of kswapd and kcompactd of a node.

/// State of a node's kswapd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kswapd {
    pub(super) running: bool,
    /// Woken for a huge page, and still balancing for one.
    pub(super) huge: bool,
    /// Woken for a huge page since it slept.
    pub(super) asked_huge: bool,
    pub(super) priority: u32,
    pub(super) reclaimed: u64,
    pub(super) failures: u32,
}

impl Kswapd {
    /// Whether it is awake.
    pub fn is_running(&self) -> bool {
        self.running
    }
    /// Resets the count of failures after reclaim has freed pages of the node.
    pub(super) fn reset_failures(&mut self) {
        self.failures = 0;
    }
}

/// State of a node's kcompactd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kcompactd {
    pub(super) woken: bool,
    /// Score at which proactive compaction began; `None` while it does not run.
    pub(super) proactive_from: Option<u64>,
}

impl Kcompactd {
    /// Whether it is woken.
    pub fn is_woken(&self) -> bool {
        self.woken
    }
    /// Whether it compacts proactively.
    pub fn is_proactive(&self) -> bool {
        self.proactive_from.is_some()
    }
}

/// Result of a step of kswapd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KswapdStep {
    /// It continues at the next step.
    Running,
    /// It sleeps.
    Asleep,
}
