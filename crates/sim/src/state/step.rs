//! How steps of a program and faults end.

use crate::state::cpu::Pending;

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Go on (the slice may be over: the caller looks at the clock).
    Go,
    /// The slice ends here.
    Stop(Pending),
}

/// What a fault did to the slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultEnd {
    /// Go on.
    Go,
    /// Memory is exhausted.
    OutOfMemory,
    /// The page can be accessed this once.
    Pass,
    /// A huge page is being copied: go on once that is done.
    Copying,
    /// The slice ends: the fault is handled later, is still going on, or waits.
    Stop(Pending),
}

impl FaultEnd {
    /// How a fault ends the step, if it does.
    pub(crate) fn stops(self) -> Option<Step> {
        match self {
            Self::Go | Self::Pass => None,
            Self::OutOfMemory => Some(Step::Stop(Pending::Exit)),
            Self::Copying => Some(Step::Stop(Pending::Moves)),
            Self::Stop(pending) => Some(Step::Stop(pending)),
        }
    }
}
