//! The fields of a scheduling domain that change while the system runs.

use crate::sched::balance::dice::Dice;

/// Run-time state of one domain of one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sched) struct DomState {
    /// Present balance interval of an idle CPU, ms.
    pub interval_ms: u64,
    /// Jiffy of the last balance pass.
    pub last_balance: u64,
    pub nr_balance_failed: u32,
    pub max_newidle_cost_ns: u64,
    /// Jiffy at which `max_newidle_cost_ns` last decayed or grew.
    pub last_decay: u64,
    /// Success of newly-idle passes (NI_RANDOM).
    pub dice: Dice,
}

impl DomState {
    /// The state before the first balance pass; `interval_ms` is the domain's shortest interval.
    pub fn new(interval_ms: u32) -> Self {
        Self {
            interval_ms: u64::from(interval_ms),
            last_balance: 0,
            nr_balance_failed: 0,
            max_newidle_cost_ns: 0,
            last_decay: 0,
            dice: Dice::default(),
        }
    }
}
