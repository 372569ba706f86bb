//! `[background]` of a machine file.

use super::layers::Layers;
use super::Background;
use crate::spec::SpecError;
use std::ops::RangeInclusive;

/// Legal times between two turns of a thread, ms.
const PERIOD_MS: RangeInclusive<f64> = 0.1..=1e6;

/// Longest turn and longest delay of a timer, us.
const TURN_US_MAX: f64 = 1e5;

/// Reads `[background]`; what a file does not state has the documented default.
///
/// # Errors
/// An unknown key, or a value outside its range.
pub(super) fn read(root: &Layers) -> Result<Background, SpecError> {
    let t = root.sub("background")?;
    let default = Background::default();
    let background = Background {
        cpu_thread_period_ms: t.opt_within("cpu_thread_period_ms", &PERIOD_MS)?.unwrap_or(default.cpu_thread_period_ms),
        cpu_thread_us: t.opt_up_to("cpu_thread_us", TURN_US_MAX)?.unwrap_or(default.cpu_thread_us),
        daemons: t.opt_int("daemons", 0..=1024)?.map_or(default.daemons, |n| n as u32),
        daemon_period_ms: t.opt_within("daemon_period_ms", &PERIOD_MS)?.unwrap_or(default.daemon_period_ms),
        daemon_us: t.opt_up_to("daemon_us", TURN_US_MAX)?.unwrap_or(default.daemon_us),
        timer_slack_us: t.opt_up_to("timer_slack_us", TURN_US_MAX)?.unwrap_or(default.timer_slack_us),
    };
    t.finish()?;
    Ok(background)
}
