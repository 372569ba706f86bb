//! How large a program with all its descendants is.

use std::path::Path;

/// Size of a process and its descendants at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Resident memory, bytes; pages that processes share count for each.
    pub resident_bytes: u64,
    /// Threads.
    pub threads: usize,
}

impl Size {
    /// The larger of both, each figure by itself.
    pub fn max(self, other: Self) -> Self {
        Self { resident_bytes: self.resident_bytes.max(other.resident_bytes), threads: self.threads.max(other.threads) }
    }
}

/// `pid` and its descendants that live. `proc` is `/proc`.
pub fn members(proc: &Path, pid: u32) -> Vec<u32> {
    let mut out = vec![pid];
    let mut next = 0;
    while let Some(&pid) = out.get(next) {
        next += 1;
        for task in std::fs::read_dir(proc.join(format!("{pid}/task"))).into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            out.extend(children.split_whitespace().filter_map(|c| c.parse::<u32>().ok()));
        }
    }
    out
}

/// Size of `pid` and its descendants; zero if it has ended. `proc` is `/proc`.
pub fn size(proc: &Path, pid: u32) -> Size {
    let mut out = Size::default();
    for pid in members(proc, pid) {
        let dir = proc.join(pid.to_string());
        let status = std::fs::read_to_string(dir.join("status")).unwrap_or_default();
        let figure = |key: &str| {
            let rest = status.lines().find_map(|l| l.strip_prefix(key));
            rest.and_then(|r| r.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0)
        };
        out.resident_bytes += figure("VmRSS:") << 10;
        out.threads += figure("Threads:") as usize;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_and_threads() {
        let own = size(Path::new("/proc"), std::process::id());
        assert!(own.resident_bytes > 100_000 && own.threads >= 2, "{own:?}");
        assert_eq!(size(Path::new("/proc"), u32::MAX), Size::default());
    }
}
