//! Names and sizes in the workload of a fit: its parameters, and the sizes of regions as expressions of them.

use super::fitted::Fit;
use super::image::FittedProcess;
use super::region::Region;
use super::steps::Sizes;
use crate::format::{LINE_BYTES, PAGE_BYTES};

impl Fit {
    /// Name of the process that maps what others share.
    pub(super) fn sharing_name(&self) -> String {
        let is_taken = |name: &String| self.processes.iter().any(|p| p.name == *name);
        let mut names = (1..).map(|n| if n == 1 { "sharing".to_string() } else { format!("sharing_{n}") });
        names.find(|n| !is_taken(n)).unwrap_or_default()
    }

    /// The parameter that holds the memory of a process.
    pub fn memory(&self, process: usize) -> String {
        match self.processes.len() {
            1 => "memory".into(),
            _ => format!("memory_{}", self.processes[process].name),
        }
    }

    /// The parameter that holds the number of threads of a kind. Kinds that take turns have one together.
    pub fn threads(&self, process: usize, class: usize) -> String {
        let p = &self.processes[process];
        let class = p.turns.iter().find(|t| t.second == class).map_or(class, |t| t.first);
        match (self.processes.len(), p.classes.len() - p.turns.len()) {
            (1, 1) => "threads_each".into(),
            _ => format!("threads_{}_{}", p.name, class + 1),
        }
    }

    /// Sizes of the regions of a process, as expressions.
    pub(super) fn sizes(&self, n: usize, p: &FittedProcess) -> Sizes {
        let (memory, all) = (self.memory(n), total(p) as f64);
        let memory_regions = p.regions.iter().filter(|r| r.lines.is_none() && r.is_own()).count();
        let of = |r: &Region| match r.members {
            _ if r.lines.is_some() => {
                format!("{}B", (r.lines.unwrap_or(1) * LINE_BYTES).next_multiple_of(PAGE_BYTES))
            }
            None if r.is_shared => r.name.clone(),
            _ if r.inherited.is_some() => self.size_of_inherited(r),
            None if memory_regions == 1 => memory.clone(),
            None => format!("floor({:.6} * {memory})", r.bytes as f64 / all),
            Some(_) if memory_regions == 1 => {
                format!("floor({memory} / {})", self.member_count(n, p, r.members.unwrap_or(1)))
            }
            Some(members) => {
                let count = self.member_count(n, p, members);
                format!("floor({:.6} * {memory} / {count})", (r.bytes * members as u64) as f64 / all)
            }
        };
        p.regions.iter().map(of).collect()
    }

    /// How many members a region has, as an expression: as many as the threads that have one each, if there are such.
    pub(super) fn member_count(&self, n: usize, p: &FittedProcess, members: usize) -> String {
        match p.classes.iter().position(|c| c.members.len() == members) {
            Some(class) => self.threads(n, class),
            None => members.to_string(),
        }
    }

    /// Size of a region that is another process's, as an expression.
    fn size_of_inherited(&self, r: &Region) -> String {
        let owner = r.inherited.and_then(|n| Some((n, self.processes.get(n)?)));
        let of = owner.and_then(|(n, p)| {
            let at = p.regions.iter().position(|o| o.is_own() && o.name == r.name)?;
            self.sizes(n, p).get(at).cloned()
        });
        of.unwrap_or_else(|| format!("{}B", r.bytes))
    }
}

/// Bytes of all regions of a process, without those that others have too.
pub fn total(p: &FittedProcess) -> u64 {
    p.regions.iter().filter(|r| r.is_own()).map(|r| r.bytes * r.members.unwrap_or(1) as u64).sum()
}
