//! Which processes are meant.

use super::{cgroup, process, Roots};

/// Which processes are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every process that has memory.
    All,
    /// A process and its descendants.
    Tree(u32),
    /// The processes of a control group and of those below it.
    Cgroup(String),
}

impl Scope {
    /// Processes of the scope, ascending; empty if there are none now. Threads of the kernel and this process are left
    /// out.
    ///
    /// # Errors
    /// The control group cannot be read.
    pub fn processes(&self, roots: &Roots) -> Result<Vec<u32>, String> {
        let pids = match self {
            Self::All => cgroup::all_processes(roots),
            Self::Tree(pid) => process::with_descendants(roots, *pid),
            Self::Cgroup(name) => cgroup::processes(roots, name).map_err(|e| {
                let place = cgroup::directory(roots, name).join("cgroup.procs");
                format!(
                    "{}: {e}; expected a control group below {}",
                    place.display(),
                    roots.sys.join("fs/cgroup").display()
                )
            })?,
        };
        Ok(pids.into_iter().filter(|&p| p != std::process::id()).collect())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_unknown_group_is_an_error_with_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots { proc: dir.path().into(), sys: dir.path().into() };
        let e = Scope::Cgroup("x.slice".into()).processes(&roots).unwrap_err();
        assert!(e.contains("fs/cgroup/x.slice/cgroup.procs") && e.contains("expected a control group below"), "{e}");
        assert_eq!(Scope::All.processes(&roots), Ok(vec![]));
        assert_eq!(Scope::Tree(1).processes(&roots), Ok(vec![]));
    }
}
