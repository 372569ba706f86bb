//! The forms of text that are known, by the command that prints each.

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
    /// The output of `likwid-topology`.
    Likwid,
    /// The output of `turbostat --show CPU,Node`.
    Turbostat,
    /// The output of `numastat -m`.
    NumastatMemory,
    /// The output of `numastat -p`.
    NumastatProcess,
    /// The contents of `/proc/zoneinfo`.
    Zoneinfo,
    /// The output of `dmidecode -t memory`.
    Dmidecode,
    /// The report of `perf mem report`.
    PerfMem,
}

impl Form {
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
            Form::Likwid => "likwid-topology",
            Form::Turbostat => "turbostat --show CPU,Node",
            Form::NumastatMemory => "numastat -m",
            Form::NumastatProcess => "numastat -p",
            Form::Zoneinfo => "cat /proc/zoneinfo",
            Form::Dmidecode => "dmidecode -t memory",
            Form::PerfMem => "perf mem report",
        }
    }
}
