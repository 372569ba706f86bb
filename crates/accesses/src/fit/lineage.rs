//! Kinds of processes with who is forked from whom: images that are alike are one kind, with their number.
//!
//! A child of a fork names the regions that it inherits as its parent does, so its own must not have the names of
//! those. It begins when its parent has done what it does before.

use super::image::FittedProcess;
use super::inherited::Inheritance;
use super::pattern::Phase;
use std::collections::BTreeMap;

/// The kinds that are known so far.
pub struct Kinds<'a> {
    inheritance: &'a Inheritance,
    /// The kinds, in the order of their begin.
    pub processes: Vec<FittedProcess>,
    /// The kind of each image, and when that began.
    of: BTreeMap<u64, (usize, u64)>,
    /// Names of heirlooms, by their number, with the kind that hands them on.
    names: BTreeMap<usize, (usize, String)>,
}

impl<'a> Kinds<'a> {
    /// None so far.
    pub fn new(inheritance: &'a Inheritance) -> Self {
        Self { inheritance, processes: Vec::new(), of: BTreeMap::new(), names: BTreeMap::new() }
    }

    /// Adds an image, whose parent was added before. `heirlooms` are their numbers by region.
    pub fn add(&mut self, image: u64, mut fitted: FittedProcess, heirlooms: &BTreeMap<usize, usize>) {
        let began = fitted.begins;
        if let Some((parent, begin)) = self.parent(image) {
            fitted.parent = Some(parent);
            let insns: f64 = self.processes[parent].prologue.iter().map(Phase::all_insns).sum();
            fitted.begins = began.saturating_sub(begin).saturating_sub(insns as u64);
        }
        for (region, heirloom) in heirlooms {
            if let Some((owner, name)) = self.names.get(heirloom) {
                let r = &mut fitted.regions[*region];
                (r.inherited, r.name) = (Some(*owner), name.clone());
            }
        }
        self.name_apart(&mut fitted);
        let kind = match self.processes.iter().position(|p| p.is_like(&fitted)) {
            Some(same) => {
                self.processes[same].count += 1;
                same
            }
            None => {
                self.processes.push(fitted);
                self.processes.len() - 1
            }
        };
        self.of.insert(image, (kind, began));
        for (region, heirloom) in heirlooms {
            let name = self.processes[kind].regions[*region].name.clone();
            self.names.entry(*heirloom).or_insert((kind, name));
        }
    }

    /// The nearest image before it that is in the fit, of those that hand memory on to this one.
    fn parent(&self, image: u64) -> Option<(usize, u64)> {
        let mut next = self.inheritance.parent(image);
        while let Some(parent) = next {
            if let Some(known) = self.of.get(&parent) {
                return Some(*known);
            }
            next = self.inheritance.parent(parent);
        }
        None
    }

    /// Gives regions other names than those have that the process inherits, used or not.
    fn name_apart(&self, fitted: &mut FittedProcess) {
        let mut taken: Vec<&str> = Vec::new();
        let mut next = fitted.parent;
        while let Some(parent) = next {
            let p = &self.processes[parent];
            taken.extend(p.regions.iter().map(|r| r.name.as_str()));
            next = p.parent;
        }
        for r in 0..fitted.regions.len() {
            let own = fitted.regions[r].name.clone();
            let is_free = |name: &String| {
                let is_other = |(n, o): (usize, &super::region::Region)| n != r && o.name == *name;
                !taken.contains(&name.as_str()) && !fitted.regions.iter().enumerate().any(is_other)
            };
            if fitted.regions[r].is_own() && !is_free(&own) {
                let mut names = (2..).map(|n| format!("{own}_{n}"));
                fitted.regions[r].name = names.find(is_free).unwrap_or(own);
            }
        }
    }
}
