//! Memory of this host that runs may use, and how many runs at a time fit into it.
//!
//! Problem: a simulated machine may need more memory than the host has, and the kernel of the host would then end the
//! command, or another program.
//! Approach: what each run takes at its peak is [predicted](numalab_sim::predict_memory) before the first one. Of the
//! runs at a time, the largest ones are taken to meet. A run that does not fit alone is refused, and nothing is
//! created.

use crate::execute::Backend;
use crate::failure::{note, Failure};
use crate::run_label::run_label;
use numalab_host::procfs::{cgroup, Roots};
use numalab_model::experiment::Cell;
use numalab_model::plan::PlanInput;
use numalab_sim::{MemoryPrediction, SimConfig};
use std::path::Path;

/// Memory of the command besides what its runs take: the catalog, records, pages.
pub const COMMAND_BYTES: u64 = 30 << 20;

/// Environment variable with the limit of a command that has no `--memory-limit`.
const LIMIT_VARIABLE: &str = "NUMALAB_MEMORY_LIMIT";

/// Memory that a command may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Bytes.
    pub bytes: u64,
    /// Who sets it, for messages.
    pub source: &'static str,
}

/// The limit of this command: the option, else the environment variable, else what is available on this host and in the
/// control group; `None` if nothing tells.
///
/// # Errors
/// An environment variable that is no size.
pub fn limit(asked: Option<u64>) -> Result<Option<Limit>, Failure> {
    if let Some(bytes) = asked {
        return Ok(Some(Limit { bytes, source: "--memory-limit" }));
    }
    match std::env::var(LIMIT_VARIABLE) {
        Ok(text) if !text.is_empty() => {
            let bytes = size(&text).map_err(|e| Failure::usage(format!("{LIMIT_VARIABLE}={text:?}: expected {e}")))?;
            Ok(Some(Limit { bytes, source: LIMIT_VARIABLE }))
        }
        _ => Ok(available(&Roots::default())),
    }
}

/// Memory that can be had without swapping, on the host or in a control group of this process, whichever is less.
fn available(roots: &Roots) -> Option<Limit> {
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let meminfo = read(&roots.proc.join("meminfo"));
    let line = |text: &str, key: &str| -> Option<u64> {
        text.lines().find_map(|l| l.strip_prefix(key))?.split_whitespace().next()?.parse().ok()
    };
    let host = meminfo.and_then(|t| line(&t, "MemAvailable:"));
    let host = host.map(|kib| Limit { bytes: kib << 10, source: "MemAvailable of this host" });
    let mut dir = cgroup::of_process(roots, std::process::id()).map(|group| cgroup::directory(roots, &group));
    let mut groups = Vec::new();
    while let Some(at) = dir.filter(|d| d.starts_with(roots.sys.join("fs/cgroup"))) {
        let number = |file: &str| read(&at.join(file))?.trim().parse::<u64>().ok();
        if let (Some(max), Some(used)) = (number("memory.max"), number("memory.current")) {
            // Cached files can be dropped.
            let cached = read(&at.join("memory.stat")).and_then(|t| line(&t, "inactive_file ")).unwrap_or(0);
            let bytes = max.saturating_sub(used.saturating_sub(cached));
            groups.push(Limit { bytes, source: "the memory.max of the control group" });
        }
        dir = at.parent().map(Path::to_path_buf);
    }
    host.into_iter().chain(groups).min_by_key(|l| l.bytes)
}

/// Reads a size such as `4GiB`, `512MiB` or `2GB`; at least 1 MiB.
///
/// # Errors
/// What was expected, if the text is no such size.
pub fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, f64); 8] = [
        ("TiB", 1_099_511_627_776.0),
        ("GiB", 1_073_741_824.0),
        ("MiB", 1_048_576.0),
        ("KiB", 1024.0),
        ("TB", 1e12),
        ("GB", 1e9),
        ("MB", 1e6),
        ("KB", 1e3),
    ];
    let one =
        |(unit, bytes): (&str, f64)| text.trim().strip_suffix(unit)?.trim().parse::<f64>().ok().map(|n| n * bytes);
    let found = UNITS.into_iter().find_map(one).filter(|n| (1_048_576.0..=9e15).contains(n));
    found.map(|n| n as u64).ok_or_else(|| "a size such as 512MiB or 4GiB, at least 1MiB".into())
}

/// A size for people.
pub fn in_words(bytes: u64) -> String {
    match bytes as f64 / 1_048_576.0 {
        mib if mib >= 10_240.0 => format!("{:.0} GiB", mib / 1024.0),
        mib if mib >= 1024.0 => format!("{:.1} GiB", mib / 1024.0),
        mib if mib >= 10.0 => format!("{mib:.0} MiB"),
        mib => format!("{:.1} MiB", mib.max(0.1)),
    }
}

/// What takes a hundredth of a prediction or more, largest first.
pub fn parts_in_words(p: &MemoryPrediction) -> String {
    let mut parts: Vec<_> = p.parts().into_iter().filter(|(_, bytes)| *bytes * 100 >= p.total()).collect();
    parts.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let one = |(name, bytes): &(&str, u64)| format!("{name} {}", in_words(*bytes));
    parts.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// How many of `jobs` runs at a time fit beside each other, if the largest of them meet; 0 if not even the largest
/// does.
pub fn fitting(mut peaks: Vec<u64>, jobs: usize, limit: &Limit) -> usize {
    peaks.sort_unstable_by(|a, b| b.cmp(a));
    let room = limit.bytes.saturating_sub(COMMAND_BYTES);
    let sums = peaks.iter().take(jobs).scan(0u64, |sum, peak| {
        *sum = sum.saturating_add(*peak);
        Some(*sum)
    });
    let fit = sums.take_while(|sum| *sum <= room).count();
    // Fewer runs than jobs leave some idle, which need no memory.
    if fit == peaks.len().min(jobs) {
        jobs
    } else {
        fit
    }
}

/// Predictions of cells that are to run, one for those that differ only in their seed, and how many there are of each.
fn predictions<'a>(
    backend: &dyn Backend,
    cells: impl Iterator<Item = &'a Cell>,
) -> Vec<(&'a PlanInput, MemoryPrediction, usize)> {
    let mut out: Vec<(&PlanInput, MemoryPrediction, usize)> = Vec::new();
    let key = |i: &PlanInput| (i.plan.machine.name.clone(), i.plan.workload.name.clone(), i.plan.kernel.name.clone());
    for cell in cells {
        match out.iter_mut().find(|(input, ..)| key(input) == key(&cell.input)) {
            Some(found) => found.2 += 1,
            None => {
                if let Some(peak) = backend.memory(&cell.input) {
                    out.push((&cell.input, peak, 1));
                }
            }
        }
    }
    out
}

/// The number of runs at a time, at most `jobs`, of which all fit into memory. Says so if it is fewer. Runs with a
/// record in `dir` need no memory.
///
/// # Errors
/// A run that does not fit alone; a wrong limit.
pub fn jobs_that_fit(backend: &dyn Backend, cells: &[Cell], dir: &Path, jobs: usize) -> Result<usize, Failure> {
    let Some(limit) = limit(backend.memory_limit())? else { return Ok(jobs) };
    let recorded = |c: &&Cell| dir.join(c.input.id.short()).join("manifest.json").is_file();
    let all = predictions(backend, cells.iter().filter(|c| !recorded(c) || backend.lacks(&c.input)));
    let Some(largest) = all.iter().max_by_key(|(_, peak, _)| peak.total()) else { return Ok(jobs) };
    let peaks = all.iter().flat_map(|(_, peak, n)| std::iter::repeat_n(peak.total(), *n)).collect();
    match fitting(peaks, jobs, &limit) {
        0 => Err(refusal(largest.0, &largest.1, &limit)),
        fit if fit < jobs => {
            let (each, has) = (in_words(largest.1.total()), in_words(limit.bytes));
            let runs = if fit == 1 { "1 run".to_string() } else { format!("{fit} runs") };
            note(&format!(
                "numalab: {runs} at a time instead of {jobs}: the largest takes about {each} of memory, and {has} may be used \
                 ({})",
                limit.source
            ));
            Ok(fit)
        }
        _ => Ok(jobs),
    }
}

/// Runs that take no more than this are carried out without a look at the host, bytes.
const SMALL_BYTES: u64 = 256 << 20;

/// Refuses a run that does not fit into memory by itself, as the Python package does before each.
///
/// # Errors
/// The run does not fit; a wrong limit.
pub fn check(input: &PlanInput, cfg: &SimConfig) -> Result<(), Failure> {
    let peak = numalab_sim::predict_memory(&input.machine, &input.workload, cfg);
    if peak.total() <= SMALL_BYTES {
        return Ok(());
    }
    match limit(None)? {
        Some(limit) if fitting(vec![peak.total()], 1, &limit) == 0 => Err(refusal(input, &peak, &limit)),
        _ => Ok(()),
    }
}

/// The refusal of a run that does not fit.
fn refusal(input: &PlanInput, peak: &MemoryPrediction, limit: &Limit) -> Failure {
    Failure::environment(format!(
        "{}: would take about {} of memory ({}), and {} may be used ({}, of which the command itself needs {}); expected a \
         smaller run: less memory or fewer threads (--param), huge pages (--set system.thp=always), or a higher --memory-limit",
        run_label(&input.plan),
        in_words(peak.total()),
        parts_in_words(peak),
        in_words(limit.bytes),
        limit.source,
        in_words(COMMAND_BYTES),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit_of(mib: u64) -> Limit {
        Limit { bytes: COMMAND_BYTES + (mib << 20), source: "test" }
    }

    #[test]
    fn as_many_run_at_a_time_as_fit() {
        let peaks = || vec![100 << 20, 300 << 20, 200 << 20];
        let fit = |jobs, mib| fitting(peaks(), jobs, &limit_of(mib));
        assert_eq!((fit(2, 500), fit(2, 499), fit(2, 300), fit(2, 299)), (2, 1, 1, 0));
        assert_eq!((fit(8, 600), fit(8, 599)), (8, 2), "three runs need no more than three");
        assert_eq!(fitting(vec![], 4, &limit_of(0)), 4);
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!((size("4GiB"), size("1.5 MiB"), size("2GB")), (Ok(4 << 30), Ok(3 << 19), Ok(2_000_000_000)));
        for bad in ["", "4", "GiB", "-1GiB", "1KiB", "NaNGiB", "infGiB", "4 GiB x"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_least_of_host_and_control_groups_is_available() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots { proc: dir.path().join("proc"), sys: dir.path().join("sys") };
        assert_eq!(available(&roots), None);
        let put = |path: String, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("proc/meminfo".into(), "MemTotal: 9 kB\nMemAvailable:   4096 kB\n");
        let host = Limit { bytes: 4 << 20, source: "MemAvailable of this host" };
        assert_eq!(available(&roots), Some(host.clone()));
        put(format!("proc/{}/cgroup", std::process::id()), "0::/a/b\n");
        put("sys/fs/cgroup/a/b/memory.max".into(), "max\n");
        put("sys/fs/cgroup/a/b/memory.current".into(), "1000\n");
        assert_eq!(available(&roots), Some(host), "a group without a limit");
        put("sys/fs/cgroup/a/memory.max".into(), "3000000\n");
        put("sys/fs/cgroup/a/memory.current".into(), "1500000\n");
        put("sys/fs/cgroup/a/memory.stat".into(), "anon 5\ninactive_file 500000\n");
        assert_eq!(available(&roots).map(|l| l.bytes), Some(2_000_000), "the limit of a parent, without cached files");
    }
}
