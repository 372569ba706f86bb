//! Which tool's output a text is.

use super::form::Form;
use super::{likwid, lscpu, lscpu_table, lstopo, memory, numactl, perf_mem, turbostat};

impl Form {
    /// The form of a text, `None` if it is none of them. Other text may stand around the output of a tool.
    pub fn of(text: &str) -> Option<Form> {
        of(text)
    }
}

/// As [`Form::of`].
pub(super) fn of(text: &str) -> Option<Form> {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    if start.starts_with('<') || text.contains("<topology") {
        return Some(Form::HwlocXml);
    }
    if json_part(text).is_some() {
        return Some(Form::LscpuJson);
    }
    let any = |is: fn(&str) -> bool| text.lines().any(is);
    if any(likwid::is_sign) {
        return Some(Form::Likwid);
    }
    if any(memory::is_numastat) {
        let of_process = any(|l| l.trim().starts_with("Per-node process memory usage"));
        return Some(if of_process { Form::NumastatProcess } else { Form::NumastatMemory });
    }
    if any(memory::is_zone) {
        return Some(Form::Zoneinfo);
    }
    if any(memory::is_dmi) {
        return Some(Form::Dmidecode);
    }
    if any(perf_mem::is_head) {
        return Some(Form::PerfMem);
    }
    if any(numactl::is_sign) {
        return Some(Form::Numactl);
    }
    if lscpu::is_summary(text) {
        return Some(Form::Lscpu);
    }
    if lscpu_table::is_table(text) {
        return Some(Form::LscpuTable);
    }
    if any(turbostat::is_head) {
        return Some(Form::Turbostat);
    }
    if lstopo::synthetic_line(text).is_some() {
        return Some(Form::Synthetic);
    }
    text.lines().any(lstopo::is_first).then_some(Form::Lstopo)
}

/// The JSON in a text, and the number of lines above it: from the first line that begins an object, if the text begins
/// there or the object is of `lscpu`, to the last brace.
pub(super) fn json_part(text: &str) -> Option<(usize, &str)> {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let own = ["\"lscpu\"", "\"cpus\""].iter().any(|k| text.contains(k));
    let mut at = text.len() - start.len();
    if !start.starts_with('{') {
        let mut ends = text.match_indices('\n').map(|(end, _)| end + 1);
        at = ends.find(|&line| text[line..].trim_start_matches(' ').starts_with('{')).filter(|_| own)?;
    }
    let end = text.rfind('}').filter(|end| *end > at).map_or(text.len(), |end| end + 1);
    Some((text[..at].matches('\n').count(), &text[at..end]))
}
