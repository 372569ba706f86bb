//! Which tool's output a text is.

use super::{lscpu, lstopo};

/// A form of text that describes a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// An XML export of hwloc.
    HwlocXml,
    /// The output of `numactl -H`.
    Numactl,
    /// The summary of `lscpu`.
    Lscpu,
    /// The summary of `lscpu -J`.
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
    if start.starts_with('<') {
        return Some(Form::HwlocXml);
    }
    if start.starts_with('{') {
        return Some(Form::LscpuJson);
    }
    let numactl = |line: &str| {
        let line = line.trim().trim_start_matches(['>', '|', '*']).trim();
        let node = || line.strip_prefix("node ").and_then(|l| l.split_once(':')).map(|(head, _)| head);
        line.starts_with("available:") || node().is_some_and(|head| head.ends_with(" cpus") || head.ends_with(" size"))
    };
    if text.lines().any(numactl) {
        return Some(Form::Numactl);
    }
    if lscpu::is_summary(text) {
        return Some(Form::Lscpu);
    }
    if lscpu::is_table(text) {
        return Some(Form::LscpuTable);
    }
    if lstopo::synthetic_line(text).is_some() {
        return Some(Form::Synthetic);
    }
    text.lines().any(lstopo::is_first).then_some(Form::Lstopo)
}
