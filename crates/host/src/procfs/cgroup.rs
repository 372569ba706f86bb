//! Membership in control groups.

use super::{numbers_in, read, Roots};
use std::path::{Path, PathBuf};

/// The control group of a process in the unified hierarchy, such as `/system.slice/x.service`. `None` if unknown.
pub fn of_process(roots: &Roots, pid: u32) -> Option<String> {
    let text = read(&roots.process(pid).join("cgroup")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("0::")).map(str::to_string)
}

/// The directory of a control group: a path below `/sys/fs/cgroup`, with or without that part.
pub fn directory(roots: &Roots, name: &str) -> PathBuf {
    let root = roots.sys.join("fs/cgroup");
    let path = Path::new(name);
    if path.starts_with(&root) {
        return path.to_path_buf();
    }
    root.join(name.trim_start_matches('/'))
}

/// Processes of a control group and of those below it, ascending.
///
/// # Errors
/// The group's `cgroup.procs` cannot be read.
pub fn processes(roots: &Roots, name: &str) -> std::io::Result<Vec<u32>> {
    let top = directory(roots, name);
    let of = |dir: &Path| -> std::io::Result<Vec<u32>> {
        Ok(read(&dir.join("cgroup.procs"))?.lines().filter_map(|l| l.trim().parse().ok()).collect())
    };
    let mut out = of(&top)?;
    let mut dirs = vec![top];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            // Links are not followed: a hierarchy has none.
            if entry.file_type().is_ok_and(|t| t.is_dir()) {
                out.extend(of(&entry.path()).unwrap_or_default());
                dirs.push(entry.path());
            }
        }
    }
    out.sort_unstable();
    out.dedup();
    Ok(out)
}

/// CPUs that a process's control group allows, if that is known.
pub fn cpus_allowed(roots: &Roots, pid: u32) -> Option<Vec<u32>> {
    let mut dir = directory(roots, &of_process(roots, pid)?);
    let root = roots.sys.join("fs/cgroup");
    // A group without the controller has the CPUs of the one above.
    while dir.starts_with(&root) {
        if let Ok(text) = read(&dir.join("cpuset.cpus.effective")) {
            return super::list(&text).filter(|l| !l.is_empty());
        }
        dir.pop();
    }
    None
}

/// All processes, ascending.
pub fn all_processes(roots: &Roots) -> Vec<u32> {
    numbers_in(&roots.proc)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;

    #[test]
    fn a_group_has_the_processes_below_it_too() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots { proc: dir.path().join("proc"), sys: dir.path().join("sys") };
        let group = roots.sys.join("fs/cgroup/db.slice/a");
        fs::create_dir_all(&group).unwrap();
        fs::create_dir_all(roots.proc.join("7")).unwrap();
        fs::write(roots.sys.join("fs/cgroup/db.slice/cgroup.procs"), "9\n").unwrap();
        fs::write(group.join("cgroup.procs"), "7\nx\n9\n").unwrap();
        fs::write(roots.proc.join("7/cgroup"), "1:cpu:/x\n0::/db.slice/a\n").unwrap();
        fs::write(roots.sys.join("fs/cgroup/db.slice/cpuset.cpus.effective"), "0-1\n").unwrap();
        assert_eq!(processes(&roots, "/db.slice").unwrap(), [7, 9]);
        assert_eq!(processes(&roots, &roots.sys.join("fs/cgroup/db.slice").display().to_string()).unwrap(), [7, 9]);
        assert!(processes(&roots, "none").is_err());
        assert_eq!(of_process(&roots, 7).as_deref(), Some("/db.slice/a"));
        assert_eq!(cpus_allowed(&roots, 7), Some(vec![0, 1]));
        assert_eq!((of_process(&roots, 8), cpus_allowed(&roots, 8)), (None, None));
    }
}
