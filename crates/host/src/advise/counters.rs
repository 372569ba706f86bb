//! What balancing cost in a measurement: CPU time of the program, and the kernel's counters.

use super::tree;
use std::path::Path;

/// Ticks of CPU time a second in `/proc/PID/stat`, on every architecture that numalab builds for.
const TICKS_PER_S: f64 = 100.0;
/// Bytes of a page.
const PAGE_BYTES: u64 = 4096;

/// Costs of a measurement. The counters are those of the whole machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Costs {
    /// User time, s.
    pub user_s: f64,
    /// System time, s.
    pub system_s: f64,
    /// Hinting faults.
    pub hint_faults: u64,
    /// Memory that balancing moved, bytes.
    pub moved_bytes: u64,
}

impl Costs {
    /// What was added since `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            user_s: self.user_s - before.user_s,
            system_s: self.system_s - before.system_s,
            hint_faults: self.hint_faults.saturating_sub(before.hint_faults),
            moved_bytes: self.moved_bytes.saturating_sub(before.moved_bytes),
        }
    }

    /// Means of several measurements.
    pub fn mean(all: &[Self]) -> Self {
        let n = all.len().max(1) as f64;
        let sum = |f: &dyn Fn(&Self) -> f64| all.iter().map(f).sum::<f64>() / n;
        Self {
            user_s: sum(&|c| c.user_s),
            system_s: sum(&|c| c.system_s),
            hint_faults: sum(&|c| c.hint_faults as f64) as u64,
            moved_bytes: sum(&|c| c.moved_bytes as f64) as u64,
        }
    }
}

/// Whose CPU time counts.
#[derive(Clone, Copy, Debug)]
pub enum Of {
    /// All descendants of this process that have ended and were waited for.
    Children,
    /// A process with all its descendants, also those that have ended and were waited for.
    Tree(u32),
    /// The machine.
    Machine,
}

/// The figures now. What cannot be read counts as zero.
pub fn read(root: &Path, of: Of) -> Costs {
    let proc = root.join("proc");
    let (user, system) = match of {
        // Fields 14 and 15 are the process's own times, 16 and 17 those of its children.
        Of::Children => times(&std::fs::read_to_string("/proc/self/stat").unwrap_or_default(), 13),
        Of::Tree(pid) => tree_times(&proc, pid),
        Of::Machine => machine_times(&std::fs::read_to_string(proc.join("stat")).unwrap_or_default()),
    };
    let vmstat = std::fs::read_to_string(proc.join("vmstat")).unwrap_or_default();
    let counter = |name: &str| {
        let line = vmstat.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|n| n.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    Costs {
        user_s: user,
        system_s: system,
        hint_faults: counter("numa_hint_faults"),
        moved_bytes: counter("numa_pages_migrated") * PAGE_BYTES,
    }
}

/// User and system time from `/proc/PID/stat`, s. `first` is the place of the user time behind the name of the command.
fn times(stat: &str, first: usize) -> (f64, f64) {
    // The name is in parentheses and may contain blanks and parentheses.
    let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |s| s.1).split_whitespace().collect();
    let field = |i: usize| fields.get(i).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0) / TICKS_PER_S;
    (field(first), field(first + 1))
}

/// User and system time of a process and its descendants, s. A server such as PostgreSQL does its work in the latter.
fn tree_times(proc: &Path, pid: u32) -> (f64, f64) {
    let mut sum = (0.0, 0.0);
    for pid in tree::members(proc, pid) {
        let stat = std::fs::read_to_string(proc.join(format!("{pid}/stat"))).unwrap_or_default();
        // What a child that was waited for has used counts for its parent from then on.
        for (user, system) in [times(&stat, 11), times(&stat, 13)] {
            sum = (sum.0 + user, sum.1 + system);
        }
    }
    sum
}

fn machine_times(stat: &str) -> (f64, f64) {
    let line = stat.lines().next().unwrap_or_default();
    let field = |i: usize| line.split_whitespace().nth(i).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
    (field(1) / TICKS_PER_S, field(3) / TICKS_PER_S)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn times_and_counters_are_those_of_the_files() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("proc/7/task/7")).unwrap();
        std::fs::create_dir_all(dir.path().join("proc/8")).unwrap();
        std::fs::write(dir.path().join("proc/7/task/7/children"), "8 ").unwrap();
        std::fs::write(dir.path().join("proc/8/stat"), "8 (x) S 7 1 1 0 -1 0 1 2 3 4 10 20 0 0 20 0").unwrap();
        let stat = "7 (a b) c) S 1 1 1 0 -1 0 1 2 3 4 150 250 350 450 20 0";
        std::fs::write(dir.path().join("proc/7/stat"), stat).unwrap();
        let vmstat = "numa_hint_faults 10\nnuma_hint_faults_local 9\nnuma_pages_migrated 2\n";
        std::fs::write(dir.path().join("proc/vmstat"), vmstat).unwrap();
        let found = read(dir.path(), Of::Tree(7));
        // Its own times, those of children that have ended, and those of the child that lives.
        assert_eq!(
            found,
            Costs { user_s: 1.5 + 3.5 + 0.1, system_s: 2.5 + 4.5 + 0.2, hint_faults: 10, moved_bytes: 8192 }
        );
        assert_eq!(times(stat, 13), (3.5, 4.5));
        std::fs::write(dir.path().join("proc/stat"), "cpu  100 5 200 900\ncpu0 1 2 3\n").unwrap();
        assert_eq!(read(dir.path(), Of::Machine).system_s, 2.0);
    }
}
