//! Kernel probes at the beginning and the end of `task_numa_work`, whose time no tracepoint tells.
//!
//! A probe is defined for all of tracefs, under a group that has the process id of the run, and enabled in the run's
//! own instance. The probes of runs that were killed are removed by the next run.

use numalab_nouns::record::stalls::Durations;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// First part of the name of a group; the process id follows.
const GROUP: &str = "numalab_";
/// Events at the beginning and the end.
const BEGIN: &str = "numa_work_begin";
const END: &str = "numa_work_end";

/// The two probes; dropping them removes them.
#[derive(Debug)]
pub struct Probes {
    file: PathBuf,
    group: String,
}

/// Adds a line to the file of probes.
fn define(file: &Path, line: &str) -> io::Result<()> {
    OpenOptions::new().append(true).open(file)?.write_all(format!("{line}\n").as_bytes())
}

impl Probes {
    /// Defines both probes in the tracefs at `root`, and removes those of dead processes.
    ///
    /// # Errors
    /// The kernel has no kernel probes, or refuses these.
    pub fn define(root: &Path) -> io::Result<Self> {
        let file = root.join("kprobe_events");
        for group in stale(&fs::read_to_string(&file)?) {
            for event in [BEGIN, END] {
                // Another run may have removed it by now.
                let _ = define(&file, &format!("-:{group}/{event}"));
            }
        }
        let group = format!("{GROUP}{}", std::process::id());
        define(&file, &format!("p:{group}/{BEGIN} task_numa_work"))?;
        let probes = Self { file, group };
        define(&probes.file, &format!("r:{}/{END} task_numa_work", probes.group))?;
        Ok(probes)
    }

    /// Files of an instance that enable them.
    pub fn switches(&self) -> [String; 2] {
        [BEGIN, END].map(|event| format!("events/{}/{event}/enable", self.group))
    }
}

impl Drop for Probes {
    fn drop(&mut self) {
        for event in [BEGIN, END] {
            // The next run tries again.
            let _ = define(&self.file, &format!("-:{}/{event}", self.group));
        }
    }
}

/// Groups in the text of `kprobe_events` whose run is dead. A dead run may have had this process's id.
fn stale(text: &str) -> Vec<String> {
    let group = |line: &str| Some(line.split_once(':')?.1.split_once('/')?.0.to_string());
    let mut groups: Vec<String> = text.lines().filter_map(group).collect();
    groups.dedup();
    let dead = |group: &String| {
        let pid = group.strip_prefix(GROUP).and_then(|pid| pid.parse::<u32>().ok());
        pid.is_some_and(|pid| pid == std::process::id() || !Path::new(&format!("/proc/{pid}")).exists())
    };
    groups.into_iter().filter(dead).collect()
}

/// Calls of `task_numa_work` by thread id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    begun_ns: BTreeMap<u32, u64>,
    /// Durations of the calls that have ended, by thread id.
    pub ended: BTreeMap<u32, Durations>,
}

impl Calls {
    /// Takes a line of `trace_pipe`: "worker-81 [002] d..1. 12.345678: numa_work_begin: (task_numa_work+0x0/0x4c0)".
    /// Returns whether it is one of these events.
    pub fn line(&mut self, line: &str) -> bool {
        let begins = line.contains(&format!(": {BEGIN}: "));
        if !begins && !line.contains(&format!(": {END}: ")) {
            return false;
        }
        let Some((thread, now_ns)) = thread_and_time(line) else { return true };
        if begins {
            self.begun_ns.insert(thread, now_ns);
        } else if let Some(begun_ns) = self.begun_ns.remove(&thread) {
            self.ended.entry(thread).or_default().add(now_ns.saturating_sub(begun_ns));
        }
        true
    }
}

/// Thread id and time of a line, ns. The name of a program may have blanks and hyphens.
fn thread_and_time(line: &str) -> Option<(u32, u64)> {
    let (who, rest) = line.split_once(" [")?;
    let thread = who.trim_end().rsplit_once('-')?.1.parse().ok()?;
    let time = rest.split_ascii_whitespace().find_map(|w| w.strip_suffix(':').filter(|w| w.contains('.')))?;
    let (seconds, micros) = time.split_once('.')?;
    let micros: u64 = format!("{micros:0<6}").get(..6)?.parse().ok()?;
    Some((thread, seconds.parse::<u64>().ok()? * 1_000_000_000 + micros * 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_timed_by_thread() {
        let mut c = Calls::default();
        for line in [
            " my prog-x-81 [002] d..1.  12.345678: numa_work_begin: (task_numa_work+0x0/0x4c0)",
            " my prog-x-82 [003] d..1.  12.345700: numa_work_begin: (task_numa_work+0x0/0x4c0)",
            " my prog-x-81 [002] d..1.  12.345978: numa_work_end: (task_work_run+0x5c/0x90 <- task_numa_work)",
            " my prog-x-83 [002] d..1.  12.345978: numa_work_end: (task_work_run+0x5c/0x90 <- task_numa_work)",
        ] {
            assert!(c.line(line), "{line}");
        }
        assert!(!c.line(" x-1 [002] ..... 1.2: sched_skip_vma_numa: numa_scan_offset=0 reason=unsuitable"));
        assert!(c.line("torn: numa_work_end: "));
        assert_eq!(c.ended.keys().copied().collect::<Vec<_>>(), [81], "82 has not ended, 83 has not begun");
        assert_eq!((c.ended[&81].calls(), c.ended[&81].max_ns()), (1, 300_000));
    }

    #[test]
    fn probes_of_dead_runs_are_found() {
        let own = std::process::id();
        let text = format!(
            "p:numalab_999999999/numa_work_begin task_numa_work\nr8:numalab_999999999/numa_work_end task_numa_work\n\
             p:numalab_1/numa_work_begin task_numa_work\np:mine/x y\np:numalab_{own}/numa_work_begin task_numa_work\n"
        );
        assert_eq!(stale(&text), ["numalab_999999999".to_string(), format!("numalab_{own}")]);
    }

    #[test]
    fn probes_are_defined_and_removed() {
        let root = std::env::temp_dir().join(format!("numalab-probes-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        assert!(Probes::define(&root).is_err(), "no file of probes");
        fs::write(root.join("kprobe_events"), "").unwrap();
        drop(Probes::define(&root).unwrap());
        let text = fs::read_to_string(root.join("kprobe_events")).unwrap();
        let pid = std::process::id();
        let want = [
            format!("p:numalab_{pid}/numa_work_begin task_numa_work"),
            format!("r:numalab_{pid}/numa_work_end task_numa_work"),
            format!("-:numalab_{pid}/numa_work_begin"),
            format!("-:numalab_{pid}/numa_work_end"),
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), want);
        fs::remove_dir_all(&root).unwrap();
    }
}
