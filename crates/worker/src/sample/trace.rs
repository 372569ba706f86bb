//! The tracepoints of NUMA balancing, counted by reason (kernel-numa-balancing.md §15.3).
//!
//! Every run has a tracefs instance of its own with small buffers, which is drained at every sample. So other users of
//! tracing are not disturbed, and no event text is kept. The instance's name has the process id of the run. It is
//! removed at the end of the run; the next run removes the instances of runs that were killed.

use super::probes::{Calls, Probes};
use numalab_nouns::record::stalls::Durations;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Mount points of tracefs.
const ROOTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// First part of an instance's name; the process id follows.
const INSTANCE: &str = "numalab-";
/// First part of the names of skip reasons, as in the simulator.
const SKIP: &str = "skip";
/// Events and the names of their counts; `sched_skip_vma_numa` is counted for each reason.
const EVENTS: [(&str, &str); 4] = [
    ("sched_skip_vma_numa", SKIP),
    ("sched_move_numa", "placed.move"),
    ("sched_swap_numa", "placed.swap"),
    ("sched_stick_numa", "placed.stick"),
];

/// An enabled instance; dropping it ends tracing.
#[derive(Debug)]
pub struct Trace {
    // Declared before the instance: the kernel refuses to remove an instance while its pipe is open.
    pipe: File,
    counts: Counts,
    _instance: Instance,
    // Probes can only be removed once no instance has them enabled.
    _probes: Option<Probes>,
}

/// An instance's directory in tracefs; dropping it removes the instance and disables its events.
#[derive(Debug)]
struct Instance(PathBuf);

impl Drop for Instance {
    fn drop(&mut self) {
        // After an error the next run tries again.
        let _ = fs::remove_dir(&self.0);
    }
}

impl Instance {
    /// Creates the instance of this process in `instances`, and removes those of dead processes. A dead process may
    /// have had this process's id.
    fn create(instances: &Path) -> io::Result<Self> {
        for entry in fs::read_dir(instances)?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let owner = name.strip_prefix(INSTANCE).and_then(|pid| pid.parse::<u32>().ok());
            if owner.is_some_and(|pid| pid == std::process::id() || !Path::new(&format!("/proc/{pid}")).exists()) {
                let _ = fs::remove_dir(entry.path());
            }
        }
        let path = instances.join(format!("{INSTANCE}{}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    /// Writes to a file of the instance.
    fn set(&self, file: &str, text: &str) -> io::Result<()> {
        OpenOptions::new().write(true).open(self.0.join(file))?.write_all(text.as_bytes())
    }
}

/// Events by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    reasons: BTreeMap<String, u64>,
    /// Number of events that the kernel dropped.
    pub lost: u64,
    /// Calls of `task_numa_work`, if the kernel has probes.
    pub numa_work: Option<Calls>,
    rest: String,
}

impl Trace {
    /// Enables those of the events that this kernel has.
    ///
    /// # Errors
    /// There is no tracefs, or no permission.
    pub fn start() -> io::Result<Self> {
        let instances = ROOTS.iter().map(|r| Path::new(r).join("instances")).find(|d| d.is_dir());
        let instances = instances.ok_or_else(|| {
            let what = format!("no tracefs at {}: `mount -t tracefs tracefs {}`", ROOTS.join(" or "), ROOTS[0]);
            io::Error::new(io::ErrorKind::NotFound, what)
        })?;
        // Without probes nothing tells how long a scan takes, and all else works.
        let probes = instances.parent().and_then(|root| Probes::define(root).ok());
        Self::start_in(&instances, probes)
    }

    fn start_in(instances: &Path, probes: Option<Probes>) -> io::Result<Self> {
        let instance = Instance::create(instances)?;
        // At most the default of any kernel. After an error the default stays, which works as well.
        let _ = instance.set("buffer_size_kb", "256");
        let mut counts = Counts::default();
        for (event, name) in EVENTS {
            if instance.set(&format!("events/sched/{event}/enable"), "1").is_ok() && name != SKIP {
                counts.reasons.insert(name.to_string(), 0);
            }
        }
        if let Some(probes) = &probes {
            let enabled = probes.switches().iter().all(|switch| instance.set(switch, "1").is_ok());
            counts.numa_work = enabled.then(Calls::default);
        }
        let pipe = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(instance.0.join("trace_pipe"))?;
        Ok(Self { pipe, counts, _instance: instance, _probes: probes })
    }

    /// Counts the events traced so far.
    pub fn drain(&mut self) {
        let mut buffer = [0u8; 65536];
        while let Ok(n) = self.pipe.read(&mut buffer) {
            if n == 0 {
                break;
            }
            self.counts.add(&String::from_utf8_lossy(&buffer[..n]));
        }
    }

    /// Durations of the calls of `task_numa_work` that have ended since this was last asked, by thread id. `None` if
    /// the kernel has no probes for them.
    pub fn take_numa_work(&mut self) -> Option<BTreeMap<u32, Durations>> {
        self.drain();
        self.counts.numa_work.as_mut().map(|calls| std::mem::take(&mut calls.ended))
    }

    /// Ends tracing and returns the counts.
    pub fn stop(mut self) -> Counts {
        self.drain();
        std::mem::take(&mut self.counts)
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
        if self.numa_work.as_mut().is_some_and(|calls| calls.line(line)) {
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

    /// Counts by reason, in alphabetical order.
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

    #[test]
    fn an_instance_has_its_owners_id_and_is_removed_with_it() {
        let root = std::env::temp_dir().join(format!("numalab-instances-{}", std::process::id()));
        // Process ids end below 2^22 on Linux. Process 1 always exists.
        for name in ["numalab-999999999", "numalab-1", "other-999999999"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let mine = format!("numalab-{}", std::process::id());
        let names = || {
            let mut all: Vec<_> =
                fs::read_dir(&root).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
            all.sort();
            all
        };
        let instance = Instance::create(&root).unwrap();
        assert!(names().contains(&mine) && !names().contains(&"numalab-999999999".to_string()), "{:?}", names());
        drop(instance);
        assert_eq!(names(), ["numalab-1", "other-999999999"]);
        // The folder lacks the kernel's files: the start fails and leaves no instance.
        assert!(Trace::start_in(&root, None).is_err());
        assert_eq!(names(), ["numalab-1", "other-999999999"]);
        fs::remove_dir_all(&root).unwrap();
    }
}
