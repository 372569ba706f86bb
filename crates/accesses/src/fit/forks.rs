//! Processes that are forked from others of the fit, as TOML: whose regions they have, and who waits for their ends.

use super::fitted::Fit;
use super::image::FittedProcess;
use super::region::Region;
use std::fmt::{Result, Write};

impl Fit {
    /// Whether another process has this region by a fork.
    pub fn is_inherited(&self, process: usize, region: usize) -> bool {
        let Some(own) = self.processes.get(process).and_then(|p| p.regions.get(region)) else { return false };
        let is_it = |r: &Region| r.inherited == Some(process) && r.name == own.name;
        self.processes.iter().flat_map(|p| &p.regions).any(is_it)
    }

    /// Processes that are forked from one, with their numbers.
    fn children(&self, n: usize) -> impl Iterator<Item = (usize, &FittedProcess)> {
        self.processes.iter().enumerate().filter(move |(_, p)| p.parent == Some(n))
    }

    /// Whether a process, or one that is forked from it, uses what others share.
    fn needs_sharing(&self, n: usize) -> bool {
        self.processes[n].regions.iter().any(|r| r.is_shared) || self.children(n).any(|(c, _)| self.needs_sharing(c))
    }

    /// The process that a process is forked from, as keys.
    pub(super) fn forked(&self, out: &mut String, n: usize) -> Result {
        let p = &self.processes[n];
        let name = match p.parent {
            Some(parent) => self.processes[parent].name.clone(),
            None if self.needs_sharing(n) => self.sharing_name(),
            None => return Ok(()),
        };
        writeln!(out, "parent = \"{name}\"\nfork = \"after\"")?;
        match p.parent.map(|parent| self.processes[parent].count) {
            Some(parents) if parents > 1 => writeln!(out, "parent_index = \"{}\"", which(parents, p.count)),
            _ => Ok(()),
        }
    }

    /// Whether a process waits for those that are forked from it. Of several, each waits for as many.
    pub(super) fn waits(&self, n: usize) -> bool {
        let p = &self.processes[n];
        p.waits_after.is_some()
            && self.children(n).next().is_some()
            && self.children(n).all(|(_, c)| c.count.is_multiple_of(p.count))
    }

    /// The channel by which a process hears of the ends of those that are forked from it.
    pub(super) fn ends(&self, out: &mut String, n: usize) -> Result {
        let p = &self.processes[n];
        if !self.waits(n) {
            return Ok(());
        }
        writeln!(out, "\n[[channel]]\nname = \"ended_{}\"\nkind = \"futex\"", p.name)?;
        if p.count > 1 {
            writeln!(out, "over = \"0..{}\"", p.count - 1)?;
        }
        Ok(())
    }

    /// A wait for the ends of all that are forked from a process, by its first thread.
    pub(super) fn wait(&self, out: &mut String, n: usize, table: &str) -> Result {
        let p = &self.processes[n];
        if !self.waits(n) {
            return Ok(());
        }
        let of = |(c, child): (usize, &FittedProcess)| {
            let threads: Vec<String> = (0..child.classes.len()).map(|class| self.threads(c, class)).collect();
            format!("{} * ({})", child.count / p.count, threads.join(" + "))
        };
        let ends: Vec<String> = self.children(n).map(of).collect();
        let index = if p.count > 1 { "[process]" } else { "" };
        writeln!(out, "\n[[{table}]]\nname = \"wait for the ends of the forked\"")?;
        let (count, what) = (ends.join(" + "), format!("wait = \"ended_{}{index}\"", p.name));
        writeln!(out, "steps = [\n    {{ when = \"thread == 0\", count = \"{count}\", {what} }},\n]")
    }

    /// The end of a thread of a process whose parent waits for it.
    pub(super) fn end(&self, out: &mut String, n: usize, table: &str) -> Result {
        let p = &self.processes[n];
        let Some(parent) = p.parent.filter(|parent| self.waits(*parent)) else { return Ok(()) };
        let (parents, name) = (self.processes[parent].count, &self.processes[parent].name);
        let index = if parents > 1 { format!("[{}]", which(parents, p.count)) } else { String::new() };
        writeln!(out, "\n[[{table}]]\nname = \"end\"\nsignal = \"ended_{name}{index}\"")
    }
}

/// Which of several parents an instance has, as an expression: equally many have each.
fn which(parents: usize, count: usize) -> String {
    format!("process * {parents} // {count}")
}
