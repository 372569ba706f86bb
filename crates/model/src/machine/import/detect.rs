//! Which tool's output a text is.

use super::{lscpu, lscpu_table, lstopo, numactl};

/// A form of text that describes a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// An XML export of hwloc.
    HwlocXml,
    /// The output of `numactl -H`.
    Numactl,
    /// The summary of `lscpu`.
    Lscpu,
    /// The JSON of `lscpu -J` or `lscpu -e -J`.
    LscpuJson,
    /// A table of CPUs, of `lscpu -e` or `lscpu -p`.
    LscpuTable,
    /// The text of `lstopo`.
    Lstopo,
    /// The description of `lstopo --of synthetic`.
    Synthetic,
}

impl Form {
    /// The form of a text, `None` if it is none of them. Other text may stand around the output of a tool.
    pub fn of(text: &str) -> Option<Form> {
        of(text)
    }
    /// The tool's command, for messages.
    pub fn command(self) -> &'static str {
        match self {
            Form::HwlocXml => "lstopo FILE.xml",
            Form::Numactl => "numactl -H",
            Form::Lscpu => "lscpu",
            Form::LscpuJson => "lscpu -J",
            Form::LscpuTable => "lscpu -e",
            Form::Lstopo => "lstopo",
            Form::Synthetic => "lstopo --of synthetic",
        }
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
    if text.lines().any(numactl::is_sign) {
        return Some(Form::Numactl);
    }
    if lscpu::is_summary(text) {
        return Some(Form::Lscpu);
    }
    if lscpu_table::is_table(text) {
        return Some(Form::LscpuTable);
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
