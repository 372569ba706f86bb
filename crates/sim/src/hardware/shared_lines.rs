//! Caches that cohere: which lines of a set another core has written since a core was last there, and who has them.
//!
//! Problem: a line that another core has written is not in one's own cache any more, and comes from that core's. How
//! many lines that are depends on who else uses the region now, how fast, and where. Approach: before the run it is
//! worked out which sets have lines in common that somebody writes: the *shared* sets. All others cost nothing here.
//! During the run every access to a shared set is counted by LLC, and the counts are averaged at the end of an epoch,
//! as the bandwidth model does. From these rates follows what an access meets. Let others write a line `x` times while
//! a core comes to it `y` times. Of random accesses then `x / (x + y)` find that somebody else was there last, and of
//! sweeps, which come at even intervals, `min(1, x / y)`. A store needs the line for itself, so for stores `x` counts
//! reads of others too, and `y` only one's own stores.
//!
//! Lines are those of the cache, 64 bytes: slices that share one are in each other's way ("false sharing").

use crate::float::LINE_BYTES;
use numalab_kernel::hw::cache::LlcLoads;
use numalab_nouns::machine::Machine;
use std::collections::BTreeMap;

/// Number of a set that nobody else writes to.
const PRIVATE: u32 = u32::MAX;

/// Damping of the rates between epochs, as that of the bandwidth model (machines.md section 6.2).
const DAMPING: f64 = 0.5;

/// Lines in an epoch below which nobody is there.
const NOBODY: f64 = 1e-6;

/// What is known of a set before the run.
#[derive(Clone, Debug)]
pub struct SetUsers {
    /// Process that mapped the region, its number there, and the only process that sees these pages, if one is.
    pub region: (usize, u32, Option<usize>),
    /// Its parts: first byte, and that behind the last; sorted.
    pub spans: Vec<(u64, u64)>,
    /// Whether somebody writes to it.
    pub written: bool,
    /// Programs in which it is used, ascending.
    pub programs: Vec<u32>,
}

impl SetUsers {
    /// Its parts in lines.
    fn lines(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.spans.iter().map(|&(from, to)| (from / LINE_BYTES, to.div_ceil(LINE_BYTES)))
    }
    fn line_count(&self) -> u64 {
        self.lines().map(|(from, to)| to - from).sum::<u64>().max(1)
    }
    /// Number of lines that it has in common with `other`.
    fn common_lines(&self, other: &Self) -> u64 {
        let (mut a, mut b) = (self.lines().peekable(), other.lines().peekable());
        let mut sum = 0;
        while let (Some(&(from, to)), Some(&(start, end))) = (a.peek(), b.peek()) {
            sum += to.min(end).saturating_sub(from.max(start));
            if to < end {
                a.next();
            } else {
                b.next();
            }
        }
        sum
    }
}

/// A shared set, seen from another that has lines in common with it.
#[derive(Clone, Copy, Debug)]
struct Overlap {
    /// The number of the other shared set.
    other: u32,
    /// Share of the lines of the first set that are in the other too.
    share: f64,
    /// The same, by the lines of the other set.
    per_line: f64,
    /// Whether whoever uses the one uses the other.
    own: bool,
}

/// Reads and writes of a line in an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Rate {
    reads: f64,
    writes: f64,
}

impl Rate {
    fn all(self) -> f64 {
        self.reads + self.writes
    }
    fn times(self, x: f64) -> Self {
        Self { reads: self.reads * x, writes: self.writes * x }
    }
    fn add(&mut self, other: Self) {
        self.reads += other.reads;
        self.writes += other.writes;
    }
}

/// What accesses to a shared set meet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Met {
    /// Share of the lines that another LLC has made its own since.
    pub lost: f64,
    /// The part of it that is still in that cache.
    pub far: f64,
    /// Sum of the latencies of the lines in `far`, ns per access.
    pub far_ns: f64,
    /// Share of the other lines that another core of the same LLC has.
    pub beside: f64,
}

/// Use of a shared set by the cores of one LLC.
#[derive(Clone, Copy, Debug)]
struct SetUse {
    llc: u32,
    /// Lines of the present epoch.
    counted: Rate,
    /// Mean lines of an epoch.
    rate: Rate,
    /// What its accesses meet in this epoch, as it was last worked out.
    known: Option<Known>,
}

/// What accesses met.
#[derive(Clone, Copy, Debug)]
struct Known {
    cores: u32,
    access: (f64, bool),
    met: Option<Met>,
}

#[derive(Clone, Debug)]
struct SharedSet {
    /// Its number among all sets.
    set: u32,
    /// Itself, and all others that have lines in common with it.
    overlaps: Box<[Overlap]>,
    /// The LLCs where somebody uses it, ascending. Most sets are slices of one thread.
    uses: Vec<SetUse>,
}

/// Shared sets and who uses them.
#[derive(Debug)]
pub struct SharedLines {
    llcs: usize,
    /// Latency of a line from one LLC to another, ns: `[to][from]`.
    ns: Vec<f64>,
    /// By set: its number among the shared ones. Empty if there are none.
    number: Vec<u32>,
    sets: Vec<SharedSet>,
    /// Shared sets that somebody uses.
    busy: Vec<u32>,
    /// Where the lines that were last asked for come from: share by LLC.
    sources: Vec<f64>,
}

impl SharedLines {
    /// Finds the shared ones of `sets`; program number `i` is run by `threads[i]` threads.
    pub fn new(machine: &Machine, sets: &[SetUsers], threads: &[u32]) -> Self {
        let found = overlapping(sets, threads);
        let llcs = machine.llcs.len();
        // On a machine of many LLCs there are very many pairs.
        let (pairs, numbers) = if found.is_empty() { (0, 0) } else { (llcs * llcs, sets.len()) };
        let latency_ns = |i: usize| machine.core_to_core_ns(i / llcs, i % llcs);
        let mut number = vec![PRIVATE; numbers];
        for (at, &set) in found.keys().enumerate() {
            number[set] = at as u32;
        }
        let shared = |(&set, others): (&usize, &Vec<usize>)| {
            let lines = sets[set].line_count() as f64;
            let overlap = |&other: &usize| {
                let share = sets[set].common_lines(&sets[other]) as f64 / lines;
                let per_line = share / sets[other].line_count() as f64;
                let own = sets[set].programs == sets[other].programs;
                Overlap { other: number[other], share, per_line, own }
            };
            SharedSet { set: set as u32, overlaps: others.iter().map(overlap).collect(), uses: Vec::new() }
        };
        Self {
            llcs,
            ns: (0..pairs).map(latency_ns).collect(),
            sets: found.iter().map(shared).collect(),
            busy: Vec::new(),
            sources: vec![0.0; llcs],
            number,
        }
    }
    /// Number of a set among the shared ones, if it is one.
    #[inline]
    fn shared(&self, set: usize) -> Option<usize> {
        self.number.get(set).filter(|number| **number != PRIVATE).map(|&number| number as usize)
    }
    /// Counts `lines` accesses on `llc` to a set, of which the share `write` are stores.
    #[inline]
    pub fn count(&mut self, set: usize, llc: usize, lines: f64, write: f64) {
        if let Some(number) = self.shared(set).filter(|_| lines > 0.0) {
            self.add(number, llc as u32, Rate { reads: lines * (1.0 - write), writes: lines * write });
        }
    }
    fn add(&mut self, number: usize, llc: u32, lines: Rate) {
        let uses = &mut self.sets[number].uses;
        if uses.is_empty() {
            self.busy.push(number as u32);
        }
        let at = uses.partition_point(|u| u.llc < llc);
        if uses.get(at).is_none_or(|u| u.llc != llc) {
            uses.insert(at, SetUse { llc, counted: Rate::default(), rate: Rate::default(), known: None });
        }
        uses[at].counted.add(lines);
    }
    /// Ends an epoch.
    pub fn end_epoch(&mut self) {
        let sets = &mut self.sets;
        self.busy.retain(|&number| {
            let uses = &mut sets[number as usize].uses;
            uses.retain_mut(SetUse::end_epoch);
            !uses.is_empty()
        });
    }
    /// What accesses on `llc` to a set meet, of which the share `write` are stores; sweeps or random ones. `None` if
    /// nobody else is there.
    #[inline]
    pub fn meet(&mut self, loads: &LlcLoads, set: usize, llc: usize, access: (f64, bool)) -> Option<Met> {
        match self.shared(set) {
            Some(number) if !self.busy.is_empty() => self.meet_known(loads, number, llc, access),
            _ => None,
        }
    }
    /// Rates stay as they are for an epoch, and most accesses of that time are alike.
    fn meet_known(&mut self, loads: &LlcLoads, number: usize, llc: usize, access: (f64, bool)) -> Option<Met> {
        let SharedSet { set, ref uses, .. } = self.sets[number];
        let cores = loads.users(llc, set as usize).1.max(1);
        let at = uses.iter().position(|u| u.llc as usize == llc);
        if let Some(known) = at.and_then(|at| uses[at].known).filter(|k| k.cores == cores && k.access == access) {
            return known.met;
        }
        let met = self.meet_others(loads, number, (llc, f64::from(cores)), access);
        if let Some(at) = at {
            self.sets[number].uses[at].known = Some(Known { cores, access, met });
        }
        met
    }
    fn meet_others(
        &self,
        loads: &LlcLoads,
        number: usize,
        (llc, cores): (usize, f64),
        access: (f64, bool),
    ) -> Option<Met> {
        let (mut mine, mut beside, mut far, mut common) = (Rate::default(), Rate::default(), Far::default(), 0.0);
        for &Overlap { other, share, per_line, own } in &self.sets[number].overlaps {
            let SharedSet { set, ref uses, .. } = self.sets[other as usize];
            let mut met = own && cores > 1.0;
            for used in uses.iter().filter(|u| u.rate != Rate::default()) {
                let (from, rate) = (used.llc as usize, used.rate.times(per_line));
                if from != llc {
                    met = true;
                    let held = loads.could_hold(from, set as usize);
                    far.add(rate, self.ns[llc * self.llcs + from], held);
                } else if own {
                    mine.add(rate.times(1.0 / cores));
                    beside.add(rate.times(1.0 - 1.0 / cores));
                } else {
                    met = true;
                    beside.add(rate);
                }
            }
            common += if met { share } else { 0.0 };
        }
        if common == 0.0 {
            return None;
        }
        Some(met(mine, beside, &far, common.min(1.0), access))
    }
    /// LLCs from which lines of a set come to `llc`, as the share of each.
    pub fn sources(&mut self, loads: &LlcLoads, set: usize, llc: usize) -> &[f64] {
        self.sources.fill(0.0);
        let Some(number) = self.shared(set) else { return &self.sources };
        let mut sum = 0.0;
        for &Overlap { other, per_line, .. } in &self.sets[number].overlaps {
            let SharedSet { set, ref uses, .. } = self.sets[other as usize];
            for used in uses.iter().filter(|u| u.llc as usize != llc) {
                let from = used.llc as usize;
                let held = used.rate.all() * per_line * loads.could_hold(from, set as usize);
                self.sources[from] += held;
                sum += held;
            }
        }
        if sum > 0.0 {
            self.sources.iter_mut().for_each(|s| *s /= sum);
        }
        &self.sources
    }
}

impl SetUse {
    /// Averages what was counted; whether somebody is still there.
    fn end_epoch(&mut self) -> bool {
        self.known = None;
        let (now, rate) = (std::mem::take(&mut self.counted), &mut self.rate);
        rate.reads += DAMPING * (now.reads - rate.reads);
        rate.writes += DAMPING * (now.writes - rate.writes);
        rate.all() >= NOBODY
    }
}

/// Other LLCs: accesses to a line, and the same weighted by the share that the caches hold and by its latency.
#[derive(Clone, Copy, Debug, Default)]
struct Far {
    rate: Rate,
    held: Rate,
    ns: Rate,
}

impl Far {
    fn add(&mut self, rate: Rate, ns: f64, held: f64) {
        self.rate.add(rate);
        self.held.add(rate.times(held));
        self.ns.add(rate.times(held * ns));
    }
}

/// What accesses meet on the share `common` of their lines, the only ones that the others use.
fn met(mine: Rate, beside: Rate, far: &Far, common: f64, (write, sweep): (f64, bool)) -> Met {
    let odds = |others: f64, own: f64| {
        if others <= 0.0 {
            0.0
        } else if sweep {
            if others < own {
                others / own
            } else {
                1.0
            }
        } else {
            others / (others + own)
        }
    };
    // Rates are means over all lines; the others' lie on the common ones, where one's own are as on all.
    let here = 1.0 / common;
    let read = odds(far.rate.writes * here, mine.all() + beside.all() * here);
    let store = odds(far.rate.all() * here, mine.writes + beside.writes * here);
    let (reads, stores) = (common * (1.0 - write) * read, common * write * store);
    let part = |of: Rate| {
        let each = |lines: f64, sum: f64, all: f64| if all > 0.0 { lines * sum / all } else { 0.0 };
        each(reads, of.writes, far.rate.writes) + each(stores, of.all(), far.rate.all())
    };
    let by_read = odds(beside.writes * here, mine.all());
    let by_store = odds(beside.all() * here, mine.writes);
    Met {
        lost: reads + stores,
        far: part(far.held),
        far_ns: part(far.ns),
        beside: common * ((1.0 - write) * by_read + write * by_store),
    }
}

/// The sets of which several threads use the same lines and somebody writes to some, each with all that it overlaps.
fn overlapping(sets: &[SetUsers], threads: &[u32]) -> BTreeMap<usize, Vec<usize>> {
    let mut by_region: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (i, s) in sets.iter().enumerate().filter(|(_, s)| !s.programs.is_empty() && !s.spans.is_empty()) {
        by_region.entry(s.region).or_default().push(i);
    }
    let users = |a: &SetUsers, b: &SetUsers| {
        let count = |p: &u32| threads[*p as usize];
        let more = b.programs.iter().filter(|p| !a.programs.contains(p));
        a.programs.iter().chain(more).map(count).sum::<u32>()
    };
    let begin = |i: usize| sets[i].lines().next().map_or(0, |l| l.0);
    let mut out: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for mut region in by_region.into_values().filter(|r| r.iter().any(|&i| sets[i].written)) {
        region.sort_by_key(|&i| (begin(i), i));
        for (n, &a) in region.iter().enumerate() {
            let end = sets[a].lines().last().map_or(0, |l| l.1);
            for &b in region[n..].iter().take_while(|&&b| begin(b) < end) {
                let (x, y) = (&sets[a], &sets[b]);
                if (x.written || y.written) && users(x, y) > 1 && x.common_lines(y) > 0 {
                    for (i, other) in [(a, b), (b, a)] {
                        let list = out.entry(i).or_insert_with(|| vec![i]);
                        if !list.contains(&other) {
                            list.push(other);
                        }
                    }
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(reads: f64, writes: f64) -> Rate {
        Rate { reads, writes }
    }

    #[test]
    fn equal_writers_meet_at_every_second_random_access_and_at_every_line_of_a_sweep() {
        let mut far = Far::default();
        far.add(rate(0.0, 3.0), 100.0, 1.0);
        let random = met(rate(0.0, 3.0), Rate::default(), &far, 1.0, (1.0, false));
        assert_eq!((random.lost, random.far, random.far_ns, random.beside), (0.5, 0.5, 50.0, 0.0));
        let sweep = met(rate(0.0, 3.0), Rate::default(), &far, 1.0, (1.0, true));
        assert_eq!((sweep.lost, sweep.far_ns), (1.0, 100.0));
    }

    #[test]
    fn readers_meet_writers_alone_and_writers_meet_readers() {
        let mut far = Far::default();
        far.add(rate(3.0, 0.0), 100.0, 1.0);
        assert_eq!(met(rate(1.0, 0.0), Rate::default(), &far, 1.0, (0.0, false)), Met::default());
        let store = met(rate(0.0, 1.0), rate(0.0, 0.0), &far, 1.0, (1.0, false));
        assert_eq!(store.lost, 0.75);
        let beside = met(rate(0.0, 1.0), rate(0.0, 1.0), &Far::default(), 1.0, (1.0, false));
        assert_eq!((beside.lost, beside.beside), (0.0, 0.5));
    }

    #[test]
    fn lines_in_common_are_those_of_64_bytes() {
        let set = |spans: &[(u64, u64)]| SetUsers {
            region: (0, 0, None),
            spans: spans.to_vec(),
            written: true,
            programs: vec![0],
        };
        assert_eq!(set(&[(0, 16)]).common_lines(&set(&[(16, 32)])), 1);
        assert_eq!(set(&[(0, 64)]).common_lines(&set(&[(64, 128)])), 0);
        assert_eq!(set(&[(0, 100), (192, 320)]).common_lines(&set(&[(64, 256)])), 2);
    }
}
