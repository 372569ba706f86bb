//! `perf mem report` as a source: how much longer remote loads took than local ones.
//!
//! Problem: the report has latencies of sampled loads, which wait behind others. They are no idle latencies.
//! Approach: the share (`Overhead`) of a line is the sum of its weights, which are latencies. Divided by its samples it
//! is a mean, up to a factor that all lines share. Only the ratio of remote to local memory is kept, to doubt by.

use super::extra::Extra;
use super::form::Form;
use crate::spec::SpecError;

/// Fewest samples of either kind.
const LEAST_SAMPLES: f64 = 30.0;

/// Whether a line is a head of the report.
pub(super) fn is_head(line: &str) -> bool {
    line.trim_start().starts_with('#') && line.contains("Overhead") && line.contains("Memory access")
}

/// Reads the report.
///
/// # Errors
/// It has no column of samples, or too few samples of local or of remote memory.
pub(super) fn read(file: &str, text: &str) -> Result<Extra, SpecError> {
    let (mut local, mut remote) = ((0.0, 0.0), (0.0, 0.0));
    for line in text.lines().filter(|l| !l.trim_start().starts_with('#')) {
        let of = match () {
            () if line.contains("Remote RAM") => &mut remote,
            () if line.contains("Local RAM") || line.contains("RAM hit") => &mut local,
            () => continue,
        };
        let mut words = line.split_whitespace();
        let share = words.next().and_then(|w| w.strip_suffix('%')).and_then(|w| w.parse::<f64>().ok());
        let samples = words.next().and_then(|w| w.parse::<f64>().ok());
        if let (Some(share), Some(samples)) = (share, samples) {
            of.0 += share;
            of.1 += samples;
        }
    }
    if local.1 < LEAST_SAMPLES || remote.1 < LEAST_SAMPLES || local.0 <= 0.0 {
        let what = format!("{:.0} samples of local memory and {:.0} of remote", local.1, remote.1);
        let expected = format!("`perf mem report --stdio` with its column Samples, and {LEAST_SAMPLES:.0} of each");
        return Err(SpecError { line: 1, column: 1, ..SpecError::plain(file, what, expected) });
    }
    let mut extra = Extra::new(Form::PerfMem, file);
    extra.remote_ratio = Some((remote.0 / remote.1) / (local.0 / local.1));
    Ok(extra)
}
