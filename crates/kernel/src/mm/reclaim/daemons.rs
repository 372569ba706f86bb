//! State of kswapd and kcompactd of a node.

/// State of a node's kswapd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kswapd {
    pub(super) running: bool,
    /// Woken for a huge page, and not yet content with base pages.
    pub(super) huge: bool,
    /// Woken for a huge page at all.
    pub(super) asked_huge: bool,
    pub(super) priority: u32,
    pub(super) reclaimed: u64,
    pub(super) failures: u32,
}

impl Kswapd {
    /// Whether it has work.
    pub fn is_running(&self) -> bool {
        self.running
    }
    /// Reclaim succeeded on the node: it is not hopeless.
    pub(super) fn reset_failures(&mut self) {
        self.failures = 0;
    }
}

/// State of a node's kcompactd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kcompactd {
    pub(super) woken: bool,
    pub(super) proactive: bool,
}

impl Kcompactd {
    /// Whether it was woken.
    pub fn is_woken(&self) -> bool {
        self.woken
    }
}

/// What a step of kswapd came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KswapdStep {
    /// It goes on at the next step.
    Running,
    /// It sleeps.
    Asleep,
}
