//! The balancing tracepoints, counted by reason (kernel-numa-balancing.md §15.3).
//!
//! A private tracefs instance with small buffers is drained at every sample, so nothing else on the
//! system is disturbed and no event text is kept.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

/// Where tracefs is found.
const ROOTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
const INSTANCE: &str = "numalab";
/// Role of a skip's reasons, as the simulator names them.
const SKIP: &str = "skip";
/// (event, what it is counted as); `sched_skip_vma_numa` is counted per reason.
const EVENTS: [(&str, &str); 4] = [
    ("sched_skip_vma_numa", SKIP),
    ("sched_move_numa", "placed.move"),
    ("sched_swap_numa", "placed.swap"),
    ("sched_stick_numa", "placed.stick"),
];

/// An enabled instance.
#[derive(Debug)]
pub struct Trace {
    instance: PathBuf,
    pipe: File,
    counts: Counts,
}

/// Events by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    reasons: BTreeMap<String, u64>,
    /// Events the kernel dropped.
    pub lost: u64,
    rest: String,
}

impl Trace {
    /// Enables the events this kernel has.
    ///
    /// # Errors
    /// No tracefs or no permission.
    pub fn start() -> std::io::Result<Self> {
        let root = ROOTS.iter().find(|r| PathBuf::from(r).join("instances").is_dir());
        let root = root.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::NotFound))?;
        let instance = PathBuf::from(root).join("instances").join(INSTANCE);
        if !instance.is_dir() {
            fs::create_dir(&instance)?;
        }
        // Smaller or equal to the default everywhere; refusal leaves the default, which works too.
        let _ = fs::write(instance.join("buffer_size_kb"), "256");
        let mut counts = Counts::default();
        for (event, name) in EVENTS {
            if fs::write(instance.join("events/sched").join(event).join("enable"), "1").is_ok() && name != SKIP {
                counts.reasons.insert(name.to_string(), 0);
            }
        }
        let pipe = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(instance.join("trace_pipe"))?;
        Ok(Self { instance, pipe, counts })
    }

    /// Counts everything traced so far.
    pub fn drain(&mut self) {
        let mut buffer = [0u8; 65536];
        while let Ok(n) = self.pipe.read(&mut buffer) {
            if n == 0 {
                break;
            }
            self.counts.add(&String::from_utf8_lossy(&buffer[..n]));
        }
    }

    /// Ends tracing and returns what was counted.
    pub fn stop(mut self) -> Counts {
        self.drain();
        let counts = std::mem::take(&mut self.counts);
        let instance = self.instance.clone();
        drop(self);
        // An instance that stays behind costs little memory and is reused by the next run.
        let _ = fs::remove_dir(instance);
        counts
    }
}

impl Counts {
    /// Adds trace text, which may end in the middle of a line.
    pub fn add(&mut self, text: &str) {
        let mut all = std::mem::take(&mut self.rest);
        all.push_str(text);
        let complete = all.rfind('\n').map_or(0, |i| i + 1);
        for line in all[..complete].lines() {
            self.line(line);
        }
        self.rest = all[complete..].to_string();
    }

    fn line(&mut self, line: &str) {
        if let Some(at) = line.find("[LOST ") {
            let count = line[at + 6..].split(' ').next().and_then(|w| w.parse().ok());
            self.lost += count.unwrap_or(1);
            return;
        }
        for (event, name) in EVENTS {
            if !line.contains(&format!(" {event}: ")) {
                continue;
            }
            let key = match line.rsplit_once("reason=") {
                Some((_, reason)) if name == SKIP => format!("{name}.{}", reason.trim()),
                _ => name.to_string(),
            };
            *self.reasons.entry(key).or_insert(0) += 1;
        }
    }

    /// Reasons in alphabetical order.
    pub fn reasons(&self) -> Vec<(String, u64)> {
        self.reasons.iter().map(|(k, v)| (k.clone(), *v)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_counted_across_split_reads() {
        let mut c = Counts::default();
        c.add(
            " init-81 [002] ..... 1.000000: sched_skip_vma_numa: numa_scan_offset=0 vm_start=0 vm_end=1 reason=pid_in",
        );
        c.add("active\n init-81 [002] ..... 1.1: sched_skip_vma_numa: numa_scan_offset=0 reason=unsuitable\n");
        c.add("CPU:3 [LOST 12 EVENTS]\n init-9 [1] ... 2: sched_move_numa: pid=81 tgid=81 ngid=0 src_cpu=0\n");
        c.add(" x-1 [002] ..... 1.2: sched_skip_vma_numa: numa_scan_offset=0 reason=unsuitable\n");
        let want = [("placed.move", 1), ("skip.pid_inactive", 1), ("skip.unsuitable", 2)];
        assert_eq!(c.reasons(), want.map(|(n, v)| (n.to_string(), v)).to_vec());
        assert_eq!(c.lost, 12);
    }
}
