//! The kind of process that an image is: its regions, what the initial thread does first, and its kinds of threads.

use super::classes::{self, Class, Extent, Role, Worker};
use super::idle;
use super::inherited::Inheritance;
use super::messages::{self, Turns};
use super::parts::with_parts;
use super::pattern::{Caches, Part, Phase};
use super::region::{word, Placing, Region};
use super::shared::{self, Sharing};
use super::stretch::Stretch;
use super::timeline;
use super::windows;
use super::written_lines;
use crate::costs::Costs;
use crate::format::{Cell, CHUNK_BYTES, LINE_BYTES, PAGE_BYTES};
use crate::image::{Area, Image};
use crate::regions;
use crate::sites::Site;
use std::collections::{BTreeMap, BTreeSet};

/// Smallest region, bytes from the first page touched to the last.
const LEAST_BYTES: u64 = 1 << 20;
/// Share of an image's lines below which an area does not count.
const LEAST_LINES: f64 = 0.002;
/// Share of the largest thread's lines, and of its instructions, below which a thread does not count.
const LEAST_THREAD: f64 = 0.02;
/// Share of what was touched before a fork from which the initial thread has touched it.
const WHOLE: f64 = 0.9;
/// Share of a typical thread's lines below which the initial thread only waits for the others.
const JOINS: f64 = 0.05;

/// A kind of process.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedProcess {
    /// Its name.
    pub name: String,
    /// How many there are.
    pub count: usize,
    /// When the first of them began, in model instructions from the begin of the record, or, if it is forked from
    /// another process of the fit, from when that has done what it does before.
    pub begins: u64,
    /// Number of the process that it is forked from, for memory that it has of it.
    pub parent: Option<usize>,
    /// Whether others are forked from it for memory that they have of it or through it.
    pub hands_on: bool,
    /// Phases of its only thread after which it waits for all that are forked from it; with several threads it waits
    /// at the end. `None`: it does not wait.
    pub waits_after: Option<usize>,
    /// Its regions.
    pub regions: Vec<Region>,
    /// What the initial thread does before there are others.
    pub prologue: Vec<Phase>,
    /// Whether the initial thread then only waits for the others.
    pub joins: bool,
    /// Its kinds of threads.
    pub classes: Vec<Class>,
    /// Kinds that take turns.
    pub turns: Vec<Turns>,
    /// How often the threads of each kind meet at a barrier.
    pub meetings: Vec<u64>,
    /// Whether a thread that does nothing lives beside the only one that works.
    pub idles: bool,
    /// What was assumed of it.
    pub assumed: Vec<String>,
}

impl FittedProcess {
    /// Whether another process is of this kind: equal regions and threads.
    pub fn is_like(&self, other: &Self) -> bool {
        let near = |a: u64, b: u64| (a as f64 - b as f64).abs() <= 0.05 * a.max(b) as f64;
        let lines = |p: &Self| p.classes.iter().flat_map(|c| &c.phases).map(|p| p.lines()).sum::<f64>();
        let threads = |p: &Self| p.classes.iter().map(|c| (c.threads.len(), c.phases.len())).collect::<Vec<_>>();
        let forks = |p: &Self| (p.parent, p.hands_on, p.waits_after, p.idles);
        forks(self) == forks(other)
            && self.regions.len() == other.regions.len()
            && self.regions.iter().zip(&other.regions).all(|(a, b)| a.is_like(b) && near(a.bytes, b.bytes))
            && threads(self) == threads(other)
            && (0.67..=1.5).contains(&(lines(self) / lines(other).max(1.0)))
    }
}

/// Gives processes of different kinds different names: `a`, `a_2`, `a_3`.
pub fn name_apart(processes: &mut [FittedProcess]) {
    for i in 1..processes.len() {
        let own = processes[i].name.clone();
        let mut n = 1;
        while processes[..i].iter().any(|p| p.name == processes[i].name) {
            n += 1;
            processes[i].name = format!("{own}_{n}");
        }
    }
}

/// Fits a process; `None` if it has no memory to speak of. With it come the numbers of the heirlooms among its regions,
/// by region.
pub fn fit(
    image: &Image,
    (caches, costs): (&Caches, Costs),
    (sites, sharing, inheritance): (&[Site], &Sharing, &Inheritance),
) -> Option<(FittedProcess, BTreeMap<usize, usize>)> {
    let own = |s: &&Site| s.pid == image.head.pid || s.pid == image.head.parent;
    let sites: Vec<&Site> = sites.iter().filter(own).collect();
    let mut areas = regions::with_variables(with_parts(image, regions::of(image)), &sites);
    let heirlooms = inheritance.add(image.number, &mut areas);
    let own = |n: &usize| inheritance.heirlooms[*n].owner == image.number;
    let handed_on: BTreeSet<usize> = heirlooms.iter().filter(|(_, n)| own(n)).map(|(a, _)| *a).collect();
    let (chosen, extents) = choose(image, &areas, (sharing, &heirlooms, &handed_on));
    if chosen.is_empty() {
        return None;
    }
    let begin_of_others = image.threads.values().filter(|t| t.thread != 0).map(|t| t.begin_clock).min();
    let first_fork = inheritance.first_fork(image.number);
    let waited = inheritance.last_wait(image);
    let times = Times { begin_of_others, first_fork, waited };
    let Course { workers, before, joins, left_out } = course(image, (&areas, &chosen), costs, times);
    let waits_after = waited.map(|w| waits_after(&workers, w));
    let idles = idle::lives_beside(image, &workers, joins);
    let alone = chosen.iter().filter(|(a, _)| heirlooms.contains_key(a)).map(|(_, n)| *n).collect();
    let roles = classes::roles(&workers, &extents, &alone);
    let mut classes = classes::of(&workers, &extents, &roles, caches);
    let initial = Worker { thread: 0, phases: before };
    let mut prologue = prologue(&initial, &extents, &roles, caches);
    let turns = messages::turns(&classes, &image.edges);
    let meetings = classes.iter().map(|c| messages::meetings(c, &image.edges)).collect();
    let mut assumed = Vec::new();
    if left_out > 0 {
        let but_one = if idles { ", but one that stands for those that live on" } else { "" };
        assumed.push(format!("{left_out} threads that do next to nothing are left out{but_one}"));
    }
    let waits = |c: &Class| c.phases.iter().map(|p| p.waited).fold(0.0, f64::max);
    if turns.is_empty() && classes.iter().any(|c| waits(c) > 0.1) {
        assumed
            .push("threads wait for each other more than a tenth of their time, in a way that is not modelled".into());
    }
    let region = |area: &usize| roles[chosen[area]].region;
    let used: BTreeSet<usize> = prologue.iter().flat_map(|p| &p.visits).map(|v| v.region).collect();
    let (untouched, by_threads) =
        handed_on_untouched(image, (&areas, &handed_on), times, |area| used.contains(&region(area)));
    prologue.extend(untouched.iter().map(|(area, pages)| touch_once(region(area), *pages, extents[chosen[area]])));
    if by_threads {
        assumed.push("memory that its threads touch before a fork is touched by its initial thread".into());
    }
    let mut regions = name_regions((&areas, &sites, sharing), &chosen, &extents, &roles);
    let written = written_lines::objects(image, &areas, &sites);
    written_lines::add(&written, &mut regions, &mut classes, &turns);
    let heirloom = |(area, n): (&usize, &usize)| Some((roles[*chosen.get(area)?].region, *n));
    let heirlooms = heirlooms.iter().filter_map(heirloom).collect();
    let process = FittedProcess {
        name: word(image.name()),
        count: 1,
        begins: image.head.begin_clock,
        parent: None,
        hands_on: first_fork.is_some(),
        waits_after,
        regions,
        prologue,
        joins,
        classes,
        turns,
        meetings,
        idles,
        assumed,
    };
    Some((process, heirlooms))
}

/// Times at which what an image does is cut, in model time.
#[derive(Clone, Copy)]
struct Times {
    /// When the initial thread created another.
    begin_of_others: Option<u64>,
    /// When it first forked one that has memory of it.
    first_fork: Option<u64>,
    /// When it went on after the last wait for one of those.
    waited: Option<u64>,
}

impl Times {
    /// What the initial thread does until then comes before all else.
    fn cut(&self) -> Option<u64> {
        self.begin_of_others.into_iter().chain(self.first_fork).min()
    }
}

/// What the threads of an image do.
struct Course {
    workers: Vec<Worker>,
    /// What the initial thread does before there are others, threads or processes.
    before: Vec<Stretch>,
    /// Whether the initial thread then only waits.
    joins: bool,
    /// Threads that do next to nothing.
    left_out: usize,
}

fn course(image: &Image, (areas, chosen): (&[Area], &BTreeMap<usize, usize>), costs: Costs, times: Times) -> Course {
    let cut = times.cut();
    let cuts: Vec<u64> = cut.into_iter().chain(times.waited.filter(|w| Some(*w) > cut)).collect();
    let (mut workers, mut before) = (Vec::new(), Vec::new());
    for &thread in image.threads.keys() {
        let own_cuts = if thread == 0 { &cuts[..] } else { &[] };
        let phases = timeline::phases(image, areas, chosen, (thread, costs), own_cuts);
        let is_before = |p: &Stretch| thread == 0 && cut.is_some_and(|c| p.begin < c);
        let (first, rest): (Vec<_>, Vec<_>) = phases.into_iter().partition(is_before);
        before.extend(first);
        workers.push(Worker { thread, phases: rest });
    }
    let left_out = keep_busy(&mut workers);
    let mut joins = times.begin_of_others.is_some() && !workers.iter().any(|w| w.thread == 0);
    if workers.is_empty() {
        // All that matters was done before there were other threads. What children have stays before their fork.
        let phases = if times.first_fork.is_some() { Vec::new() } else { std::mem::take(&mut before) };
        workers.push(Worker { thread: 0, phases });
        joins = false;
    }
    Course { workers, before, joins, left_out }
}

/// Pages of memory for children that were touched before the first fork, where what the initial thread does before
/// there are others does not touch them; and whether that is as other threads did.
fn handed_on_untouched(
    image: &Image,
    of: (&[Area], &BTreeSet<usize>),
    times: Times,
    is_used: impl Fn(&usize) -> bool,
) -> (BTreeMap<usize, (u64, u64)>, bool) {
    let began = |c: &Cell| image.times_of(c).0;
    let alone = touched(image, of, |c| c.thread == 0 && times.cut().is_some_and(|cut| began(c) < cut));
    let mut all = touched(image, of, |c| times.first_fork.is_some_and(|fork| began(c) < fork));
    let pages = |(low, end): &(u64, u64)| (end - low) as f64;
    let by_others = |area: &usize, seen: &(u64, u64)| alone.get(area).map_or(0.0, pages) < WHOLE * pages(seen);
    all.retain(|area, seen| !is_used(area) || by_others(area, seen));
    let is_by_others = all.iter().any(|(area, seen)| by_others(area, seen));
    (all, is_by_others)
}

/// Phases of the only thread that lie before a time; with several threads, all.
fn waits_after(workers: &[Worker], clock: u64) -> usize {
    match workers {
        [one] if one.phases.len() <= timeline::MOST_PHASES => {
            one.phases.iter().filter(|p| p.begin < clock).map(|p| windows::of(&[p]).len().max(1)).sum()
        }
        _ => usize::MAX,
    }
}

/// Pages, the first and the one behind the last, that some cells have of memory for children.
fn touched(
    image: &Image,
    (areas, handed_on): (&[Area], &BTreeSet<usize>),
    counts: impl Fn(&Cell) -> bool,
) -> BTreeMap<usize, (u64, u64)> {
    let mut out: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    for c in image.cells.iter().filter(|c| !handed_on.is_empty() && counts(c)) {
        let area = regions::find(areas, c.chunk, (c.low, c.high), image.times_of(c));
        if let Some(area) = area.filter(|a| handed_on.contains(a)) {
            let first = u64::from(c.chunk) * (CHUNK_BYTES / PAGE_BYTES);
            let (low, high) = (first + u64::from(c.low), first + u64::from(c.high) + 1);
            let seen = out.entry(area).or_insert((low, high));
            *seen = (seen.0.min(low), seen.1.max(high));
        }
    }
    out
}

/// A phase that writes these pages of a region once.
fn touch_once(region: usize, (low, high): (u64, u64), (first, bytes): Extent) -> Phase {
    let share = |page: u64| ((page.saturating_sub(first) * PAGE_BYTES) as f64 / bytes.max(1) as f64).min(1.0);
    let (from, to) = (share(low), share(high));
    Phase::write_once(region, Part::Range(from, to), (to - from) * bytes as f64 / LINE_BYTES as f64)
}

/// Areas that count, with the numbers that they have among themselves, and of each the first page and bytes touched.
/// Those that are handed on count in any case.
fn choose(
    image: &Image,
    areas: &[Area],
    (sharing, heirlooms, handed_on): (&Sharing, &BTreeMap<usize, usize>, &BTreeSet<usize>),
) -> (BTreeMap<usize, usize>, Vec<Extent>) {
    let mut of = BTreeMap::<usize, (u64, u64, u64)>::new();
    let mut all = 0;
    for c in &image.cells {
        all += u64::from(c.lines);
        let Some(area) = regions::find(areas, c.chunk, (c.low, c.high), image.times_of(c)) else { continue };
        let first = u64::from(c.chunk) * (CHUNK_BYTES / PAGE_BYTES);
        // Pages of a neighbour in the same chunk do not count.
        let (begin, end) = (areas[area].begin / PAGE_BYTES, areas[area].end.div_ceil(PAGE_BYTES));
        let low = (first + u64::from(c.low)).max(begin);
        let high = (first + u64::from(c.high) + 1).min(end).max(low);
        let seen = of.entry(area).or_insert((u64::MAX, 0, 0));
        *seen = (seen.0.min(low), seen.1.max(high), seen.2 + u64::from(c.lines));
    }
    for area in handed_on {
        of.entry(*area).or_insert((0, 0, 0));
    }
    for (area, seen) in &mut of {
        // What children have of their parents, and what processes share, has one size in all of them.
        if heirlooms.contains_key(area) {
            (seen.0, seen.1) = (areas[*area].begin / PAGE_BYTES, areas[*area].end / PAGE_BYTES);
        }
        if let Some(memory) = shared::of(sharing, &areas[*area]) {
            (seen.0, seen.1) = memory.pages_in(&areas[*area]);
        }
        if areas[*area].is_huge && seen.1 > seen.0 {
            (seen.0, seen.1) = in_huge_pages(&areas[*area], (seen.0, seen.1));
        }
    }
    let counts = |(area, (low, end, lines)): &(usize, (u64, u64, u64))| {
        if handed_on.contains(area) {
            return true;
        }
        let is_large = (end - low) * PAGE_BYTES >= LEAST_BYTES && *lines as f64 >= LEAST_LINES * all as f64;
        is_large && !regions::is_library(&areas[*area].name)
    };
    let kept: Vec<(usize, (u64, u64, u64))> = of.into_iter().filter(counts).collect();
    let chosen = kept.iter().enumerate().map(|(n, (area, _))| (*area, n)).collect();
    (chosen, kept.iter().map(|(_, (low, end, _))| (*low, (end - low) * PAGE_BYTES)).collect())
}

/// The huge pages of an area that some of its pages lie in, as far as the area goes. A mapping of 2 MiB or more begins
/// with one (`thp_get_unmapped_area`), wherever the recording had it.
fn in_huge_pages(area: &Area, (low, end): (u64, u64)) -> (u64, u64) {
    let (begin, pages) = (area.begin / PAGE_BYTES, CHUNK_BYTES / PAGE_BYTES);
    let (low, end) = (low.saturating_sub(begin), end.saturating_sub(begin));
    let last = (area.end / PAGE_BYTES).saturating_sub(begin).max(end);
    (begin + low / pages * pages, begin + end.next_multiple_of(pages).min(last))
}

/// Keeps threads that do something; returns how many do not.
fn keep_busy(workers: &mut Vec<Worker>) -> usize {
    let lines = |w: &Worker| w.phases.iter().map(|p| p.lines()).sum::<u64>() as f64;
    let insns = |w: &Worker| w.phases.iter().map(|p| p.insns).sum::<u64>() as f64;
    let most_lines = workers.iter().map(lines).fold(0.0, f64::max);
    let most_insns = workers.iter().map(insns).fold(0.0, f64::max);
    let all = workers.len();
    let busy = |w: &Worker| {
        let share = if w.thread == 0 { JOINS } else { LEAST_THREAD };
        lines(w) > 0.0 && lines(w) >= share * most_lines
            || w.thread != 0 && insns(w) >= 0.2 * most_insns && most_insns > 0.0
    };
    workers.retain(busy);
    let initial_gone = usize::from(!workers.iter().any(|w| w.thread == 0));
    (all - workers.len()).saturating_sub(initial_gone)
}

/// What the initial thread does before there are others, as phases of a kind with one thread.
fn prologue(initial: &Worker, extents: &[Extent], roles: &[Role], caches: &Caches) -> Vec<Phase> {
    if initial.phases.is_empty() {
        return Vec::new();
    }
    let of = classes::of(std::slice::from_ref(initial), extents, roles, caches);
    let phases = of.into_iter().flat_map(|c| c.phases);
    phases.filter(|p| p.lines() > 0.0).collect()
}

fn name_regions(
    (areas, sites, sharing): (&[Area], &[&Site], &Sharing),
    chosen: &BTreeMap<usize, usize>,
    extents: &[Extent],
    roles: &[Role],
) -> Vec<Region> {
    let mut out: Vec<Region> = Vec::new();
    for (area, n) in chosen {
        let role = roles[*n];
        let bytes = extents[*n].1;
        if let Some(known) = out.get_mut(role.region) {
            known.bytes = known.bytes.max(bytes);
            known.members = role.member.map(|m| known.members.unwrap_or(0).max(m + 1));
            continue;
        }
        let site = regions::place(&areas[*area], sites);
        let placing = if areas[*area].is_huge { Placing::Huge } else { Placing::Own };
        let members = role.member.map(|m| m + 1);
        if let (Some(memory), None) = (shared::of(sharing, &areas[*area]), members) {
            let name = memory.name.clone();
            out.push(Region { name, bytes, members, site, placing, lines: None, is_shared: true, inherited: None });
            continue;
        }
        let base = if areas[*area].name.is_empty() { "memory".into() } else { word(&areas[*area].name) };
        let taken = out.iter().filter(|r| r.name.starts_with(&base)).count();
        let name = if taken > 0 { format!("{base}{}", taken + 1) } else { base };
        out.push(Region { name, bytes, members, site, placing, lines: None, is_shared: false, inherited: None });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_huge_pages_are_asked_for_they_are_used_whole() {
        let begin = 7 * PAGE_BYTES;
        let area = |bytes: u64| Area::private((begin, begin + bytes), 0, String::new());
        let chunk = CHUNK_BYTES / PAGE_BYTES;
        assert_eq!(
            in_huge_pages(&area(4 * CHUNK_BYTES), (7 + chunk + 3, 7 + 2 * chunk + 9)),
            (7 + chunk, 7 + 3 * chunk)
        );
        let short = area(CHUNK_BYTES + PAGE_BYTES);
        assert_eq!(in_huge_pages(&short, (9, 7 + chunk + 1)), (7, 7 + chunk + 1), "no further than the mapping");
    }

    #[test]
    fn three_kinds_of_one_program_have_three_names() {
        let named = |name: &str| FittedProcess {
            name: name.into(),
            count: 1,
            begins: 0,
            parent: None,
            hands_on: false,
            waits_after: None,
            regions: Vec::new(),
            prologue: Vec::new(),
            joins: false,
            classes: Vec::new(),
            turns: Vec::new(),
            meetings: Vec::new(),
            idles: false,
            assumed: Vec::new(),
        };
        let mut processes = ["a", "a", "a", "a_2", "b"].map(named);
        name_apart(&mut processes);
        assert_eq!(processes.map(|p| p.name), ["a", "a_2", "a_3", "a_2_2", "b"]);
    }
}
