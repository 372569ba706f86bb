//! `status` of a process or a thread: what it may use.

use super::list;

/// Fields of `status` (proc(5)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// CPUs that it may run on.
    pub cpus_allowed: Vec<u32>,
    /// Nodes that its memory may be on.
    pub mems_allowed: Vec<u32>,
    /// Memory that is present, KiB.
    pub rss_kib: u64,
    /// Memory that is locked, KiB.
    pub locked_kib: u64,
}

impl Status {
    /// The fields of the file's text; those that are absent are empty or 0.
    pub fn parse(text: &str) -> Self {
        let mut out = Self::default();
        for line in text.lines() {
            let Some((key, value)) = line.split_once(':') else { continue };
            let kib = || value.split_ascii_whitespace().next().and_then(|v| v.parse().ok()).unwrap_or(0);
            match key {
                "Cpus_allowed_list" => out.cpus_allowed = list(value).unwrap_or_default(),
                "Mems_allowed_list" => out.mems_allowed = list(value).unwrap_or_default(),
                "VmRSS" => out.rss_kib = kib(),
                "VmLck" => out.locked_kib = kib(),
                _ => {}
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_process() {
        let s = Status::parse(
            "Name:\tx\nVmLck:\t       8 kB\nVmRSS:\t    1024 kB\nCpus_allowed_list:\t0-1\nMems_allowed_list:\t0\n:\n",
        );
        assert_eq!(s, Status { cpus_allowed: vec![0, 1], mems_allowed: vec![0], rss_kib: 1024, locked_kib: 8 });
        assert_eq!(Status::parse("VmRSS: x\nCpus_allowed_list: ?"), Status::default());
    }
}
