//! Lines that threads write by turns, each its own bytes: false sharing, and what padding would gain.
//!
//! A core that writes a line takes it from the one that wrote it before, so threads pay for their neighbours' writes.
//! Such writes are counted one by one, unlike others. They become accesses to a few lines, which the simulator lets go
//! from core to core. Padded, the lines stay in their cores, and their accesses cost no more than their instructions.

use super::classes::Class;
use super::messages::Turns;
use super::pattern::{Part, Visit};
use super::region::{word, Placing, Region};
use super::usage::Order;
use crate::format::{Writer, CHUNK_BYTES, LINE_BYTES, PAGE_BYTES};
use crate::image::{Area, Image};
use crate::regions;
use crate::sites::Site;
use std::collections::BTreeMap;

/// Share of a line's writes below which a thread is none of its writers.
const LEAST_SHARE: f64 = 0.01;
/// Writes to an object against the instructions of the process below which it does not matter.
const LEAST_RATE: f64 = 0.0005;

/// An object with such lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// The variable, or the mapping.
    pub name: String,
    /// Where it comes from, if that is known.
    pub site: Option<String>,
    /// Its lines that threads write by turns, each its own bytes.
    pub lines: u64,
    /// Writes to them by thread.
    pub writes: BTreeMap<u16, u64>,
}

/// Whether the writers of a line, two at least, write bytes of their own each.
fn is_false_sharing(writers: &[&Writer]) -> bool {
    let all: u64 = writers.iter().map(|w| w.writes).sum();
    let matter = |w: &&&Writer| w.writes as f64 >= LEAST_SHARE * all as f64;
    let mut taken = 0u64;
    let mut threads = 0;
    for w in writers.iter().filter(matter) {
        if taken & w.bytes != 0 {
            return false;
        }
        taken |= w.bytes;
        threads += 1;
    }
    threads >= 2
}

/// The objects of an image whose lines are shared by chance, the most written first.
pub fn objects(image: &Image, areas: &[Area], sites: &[&Site]) -> Vec<Object> {
    let mut lines: BTreeMap<u64, Vec<&Writer>> = BTreeMap::new();
    image.writers.iter().for_each(|w| lines.entry(w.line).or_default().push(w));
    let mut out: BTreeMap<(String, Option<String>), Object> = BTreeMap::new();
    for (line, writers) in lines.iter().filter(|(_, writers)| is_false_sharing(writers)) {
        // Other variables may lie in the line too: it is about those that are written.
        let first = writers.iter().map(|w| w.bytes.trailing_zeros()).min().unwrap_or(0);
        let (name, site) = name_of(line * LINE_BYTES + u64::from(first.min(63)), areas, sites);
        let object = out.entry((name.clone(), site.clone())).or_insert_with(|| Object {
            name,
            site,
            lines: 0,
            writes: BTreeMap::new(),
        });
        object.lines += 1;
        writers.iter().for_each(|w| *object.writes.entry(w.thread).or_default() += w.writes);
    }
    let least = LEAST_RATE * image.insns() as f64;
    let all = |o: &Object| o.writes.values().sum::<u64>();
    let mut out: Vec<Object> = out.into_values().filter(|o| all(o) as f64 >= least).collect();
    out.sort_by_key(|o| std::cmp::Reverse(all(o)));
    out
}

/// The variable or block that holds an address, or the mapping around it.
fn name_of(address: u64, areas: &[Area], sites: &[&Site]) -> (String, Option<String>) {
    let holds = |s: &&&Site| s.common(address, address + 1) > 0;
    if let Some(site) = sites.iter().filter(holds).min_by_key(|s| s.bytes) {
        let name = if site.variable.is_empty() { "block".into() } else { site.variable.clone() };
        return (name, Some(site.place.clone()));
    }
    let page = (address % CHUNK_BYTES / PAGE_BYTES) as u16;
    let area = regions::find(areas, (address / CHUNK_BYTES) as u32, (page, page), (0, u64::MAX));
    let name = area.map(|a| areas[a].name.clone()).filter(|n| !n.is_empty());
    (name.unwrap_or_else(|| "memory".into()), None)
}

/// Adds the objects as regions of a few lines, which the kinds of threads write. Kinds that take turns are left as they
/// are: their steps are those of their messages.
pub fn add(objects: &[Object], regions: &mut Vec<Region>, classes: &mut [Class], turns: &[Turns]) {
    for object in objects {
        let base = format!("{}_lines", word(&object.name));
        let taken = regions.iter().filter(|r| r.name.starts_with(&base)).count();
        let name = if taken > 0 { format!("{base}{}", taken + 1) } else { base };
        let region = regions.len();
        let mut is_used = false;
        for (number, class) in classes.iter_mut().enumerate() {
            if turns.iter().any(|t| t.first == number || t.second == number) {
                continue;
            }
            let writes: u64 = class.threads.iter().filter_map(|t| object.writes.get(t)).sum();
            is_used |= writes > 0 && write(class, region, writes as f64 / class.threads.len().max(1) as f64);
        }
        if is_used {
            let (lines, site) = (Some(object.lines), object.site.clone());
            regions.push(Region {
                name,
                bytes: 0,
                members: None,
                site,
                placing: Placing::Own,
                lines,
                is_shared: false,
                inherited: None,
            });
        }
    }
}

/// Lets each thread of a kind make `writes` writes to the lines, over its phases as over its instructions. Returns
/// whether there are any.
fn write(class: &mut Class, region: usize, writes: f64) -> bool {
    let insns: f64 = class.phases.iter().map(|p| p.insns).sum();
    let mut any = false;
    for phase in &mut class.phases {
        let lines = (writes * phase.insns / insns.max(1.0)).round();
        if lines >= 1.0 {
            any = true;
            phase.visits.push(Visit {
                region,
                part: Part::Whole,
                order: Order::Random,
                lines,
                write_share: 1.0,
                foreign: 1.0,
                passes: 0.0,
                tiers: Vec::new(),
                reuse: None,
                heat: Vec::new(),
                recorded: None,
                motion: None,
            });
        }
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(thread: u16, bytes: u64, writes: u64) -> Writer {
        Writer { thread, line: 1, bytes, writes }
    }

    #[test]
    fn bytes_of_their_own_are_shared_falsely() {
        let of = |all: &[Writer]| is_false_sharing(&all.iter().collect::<Vec<_>>());
        assert!(of(&[writer(1, 0xff, 500), writer(2, 0xff00, 400)]));
        assert!(!of(&[writer(1, 0xff, 500), writer(2, 0xffff, 400)]), "a word that both write is shared");
        assert!(of(&[writer(1, 0xff, 500), writer(2, 0xff00, 400), writer(0, u64::MAX, 1)]), "who cleared it once");
        assert!(!of(&[writer(1, 0xff, 500)]));
        assert!(!of(&[]));
    }
}
