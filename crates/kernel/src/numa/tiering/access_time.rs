//! Scan times in slow-tier pages (kernel: `folio_xchg_access_time`, `numa_hint_fault_latency`).

use crate::numa::config::NumaConfig;
use crate::numa::jiffies::Jiffies;
use crate::numa::page::PageFacts;
use crate::numa::rules::TieringModel;
use crate::numa::state::LastCpupid;

/// Number of bits with which times are stored in ms; with fewer bits they are stored more coarsely.
const MIN_TIME_BITS: u32 = 12;
/// PID bits of the cpupid field.
const PID_BITS: u32 = 8;

/// Whether slow-tier pages carry their scan time instead of a cpupid.
#[inline]
pub fn uses_access_time(cfg: &NumaConfig) -> bool {
    cfg.tiering() && cfg.switches.tiering_model == TieringModel::V61
}

/// Width of the time field, and the number of low bits of the time that it leaves out.
fn time_field(cfg: &NumaConfig) -> (u32, u32) {
    let bits = PID_BITS + cfg.scan.max_cpus.max(1).next_power_of_two().trailing_zeros();
    (bits, MIN_TIME_BITS.saturating_sub(bits))
}

pub(super) fn msecs(cfg: &NumaConfig, now: Jiffies) -> u32 {
    cfg.hz.msecs(now) as u32
}

/// The scan time as stored in a page.
pub fn access_time(cfg: &NumaConfig, now: Jiffies) -> LastCpupid {
    let (bits, shift) = time_field(cfg);
    LastCpupid::from_raw(msecs(cfg, now) >> shift & ((1 << bits) - 1))
}

/// Hint latency of a slow-tier page, ms, modulo the field's range. The stored time becomes now.
pub fn hint_latency_ms(cfg: &NumaConfig, page: &mut PageFacts, now: Jiffies) -> u32 {
    let (bits, shift) = time_field(cfg);
    let stored = (page.last.raw() & ((1 << bits) - 1)) << shift;
    page.last = access_time(cfg, now);
    msecs(cfg, now).wrapping_sub(stored) & ((1 << bits) - 1) << shift
}
