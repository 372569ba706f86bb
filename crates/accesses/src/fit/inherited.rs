//! Private memory that the children of a fork have of their parent, and use.
//!
//! Problem: after a fork a child reads what its parent has written before, and what either of them writes then is
//! copied. No call tells of that memory in the child.
//! Approach: an image has the areas of the one that forked it ([`regions::inherited`]). Where a child visits pages of
//! them that the owner, who mapped them, or a process between both had touched before the fork, that stretch of memory
//! is one region of the owner, which the others inherit. What a child has and does not visit is left out, and so is
//! what nobody had touched before: a child's first touch there is as one of memory of its own.
//! Units: bytes, pages, model instructions.

use super::parts;
use crate::format::{Cell, CHUNK_BYTES, PAGE_BYTES};
use crate::image::{Area, Image};
use crate::record::{self, AccessRecord};
use crate::regions;
use crate::sites::Site;
use std::collections::{BTreeMap, BTreeSet};

/// Fewest bytes, from the first page to the last, that the owner has touched before a fork, and that a child visits.
const LEAST_BYTES: u64 = 1 << 20;
/// Share of a child's lines below which memory of its parent does not matter to it.
const LEAST_LINES: f64 = 0.002;
/// Part of a child's time by which its parent may end before it, and counts as having waited for it.
const SAME_END: u64 = 20;
/// Pages of a chunk.
const CHUNK_PAGES: u64 = CHUNK_BYTES / PAGE_BYTES;

/// A stretch of private memory that children of a fork use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heirloom {
    /// Number of the image that mapped it.
    pub owner: u64,
    /// Its first page that one of them touched, from address 0.
    pub low_page: u64,
    /// Page behind the last one.
    pub end_page: u64,
    /// What it is called: a variable, a file, "heap", or empty.
    pub name: String,
    /// Whether huge pages were asked for.
    pub is_huge: bool,
    /// Numbers of the images that have it of the owner and use it.
    pub heirs: BTreeSet<u64>,
}

impl Heirloom {
    /// It as an area of an image that has it.
    fn area(&self) -> Area {
        let place = (self.low_page * PAGE_BYTES, self.end_page * PAGE_BYTES);
        Area { is_huge: self.is_huge, ..Area::private(place, 0, self.name.clone()) }
    }
}

/// Private memory that children have of their parents, and who forked whom for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inheritance {
    /// The memory, in the order of owners and addresses.
    pub heirlooms: Vec<Heirloom>,
    /// Of images between an owner and a child that uses its memory: who forked each.
    parents: BTreeMap<u64, u64>,
    /// When an owner, or an image between, first forked one of them.
    forks: BTreeMap<u64, u64>,
    /// Process numbers of those that it forked, with when each ended, and how long it took, ns.
    children: BTreeMap<u64, BTreeMap<u32, Option<(u64, u64)>>>,
    /// Whether one that is forked later finds more than the first one that the same process forked.
    pub grows: bool,
}

impl Inheritance {
    /// The image that forked this one, if that hands on memory.
    pub fn parent(&self, image: u64) -> Option<u64> {
        self.parents.get(&image).copied()
    }

    /// When an image first forked one that has memory of it or through it, in model time.
    pub fn first_fork(&self, image: u64) -> Option<u64> {
        self.forks.get(&image).copied()
    }

    /// When an image went on after the last wait for one to which it handed on memory, in model time; the end of time
    /// if it waited for none and ended after all of them. `None`: it ended before one of them did.
    pub fn last_wait(&self, image: &Image) -> Option<u64> {
        let children = self.children.get(&image.number)?;
        let waited = image.reaped.iter().filter(|(pid, _)| children.contains_key(pid)).map(|(_, clock)| *clock).max();
        // Who waits for a message at the end of another may itself end before that one has. Who never said that it
        // ended was there to the last.
        let own = image.ended_at.map_or(u64::MAX, |(end, _)| end);
        let is_over = |end: &Option<(u64, u64)>| {
            let (end, took) = end.unwrap_or((u64::MAX, 0));
            own >= end.saturating_sub(took / SAME_END)
        };
        let outlives = || children.values().all(is_over);
        waited.or_else(|| outlives().then_some(u64::MAX))
    }

    /// Whether an image has to be in the fit: what others have of it is there.
    pub fn is_owner(&self, image: u64) -> bool {
        self.heirlooms.iter().any(|h| h.owner == image)
    }

    /// Adds the memory that an image hands on, or has and uses, behind its areas. Returns the number of each by its
    /// area.
    pub fn add(&self, image: u64, areas: &mut Vec<Area>) -> BTreeMap<usize, usize> {
        let mut out = BTreeMap::new();
        for (n, h) in self.heirlooms.iter().enumerate() {
            if h.owner == image || h.heirs.contains(&image) {
                out.insert(areas.len(), n);
                areas.push(h.area());
            }
        }
        out
    }
}

/// Finds what images of at least `least_lines` lines use of the private memory of those that forked them.
pub fn find(record: &AccessRecord, least_lines: f64) -> Inheritance {
    let mut out = Inheritance::default();
    let mut used: BTreeMap<u64, BTreeMap<(u64, u64), Heirs>> = BTreeMap::new();
    for image in record.images.iter() {
        let lines = image.lines() as f64;
        if lines < least_lines {
            continue;
        }
        for ((owner, begin, end), touched) in visited(image, u64::MAX) {
            let of = used.entry(owner).or_default().entry((begin, end)).or_default();
            of.push(Heir { image: image.number, lines, touched });
        }
    }
    for (owner, places) in used {
        let Some((_, owner)) = image_of(record, owner) else { continue };
        for (place, heirs) in by_area(owner, places) {
            for heirloom in stretches(record, owner, place, &heirs) {
                heirloom.heirs.iter().for_each(|h| out.link(record, *h, owner.number));
                out.heirlooms.push(heirloom);
            }
        }
    }
    out.grows = out.heirlooms.iter().any(|h| out.grows_between_forks(record, h));
    out
}

/// An image, its lines, and what it touched of a place.
struct Heir {
    image: u64,
    lines: f64,
    touched: Touched,
}

type Heirs = Vec<Heir>;

/// The places by the area of the owner that they are or were a part of: a heap may have grown from one fork to the
/// next, and a child gives back what it does not need.
fn by_area(owner: &Image, places: BTreeMap<(u64, u64), Heirs>) -> BTreeMap<(u64, u64), Heirs> {
    let areas = regions::of(owner);
    let mut out: BTreeMap<(u64, u64), Heirs> = BTreeMap::new();
    for ((begin, end), heirs) in places {
        let common = |a: &&Area| a.end.min(end).saturating_sub(a.begin.max(begin));
        let area = areas.iter().filter(|a| a.shared.is_none() && common(a) > 0).max_by_key(common);
        out.entry(area.map_or((begin, end), |a| (a.begin.min(begin), a.end.max(end)))).or_default().extend(heirs);
    }
    out
}

/// Pages that were touched, by chunk: the first, and the one behind the last, with lines visited.
type Touched = BTreeMap<u32, (u64, u64, u64)>;

fn touch(touched: &mut Touched, c: &Cell, place: (u64, u64)) {
    let first = u64::from(c.chunk) * CHUNK_PAGES;
    let pages = (first + u64::from(c.low), first + u64::from(c.high) + 1, u64::from(c.lines));
    add(touched, c.chunk, pages, place);
}

/// Adds what of some pages lies in a place.
fn add(touched: &mut Touched, chunk: u32, (low, high, lines): (u64, u64, u64), (begin, end): (u64, u64)) {
    let (low, high) = (low.max(begin / PAGE_BYTES), high.min(end.div_ceil(PAGE_BYTES)));
    if low < high {
        let seen = touched.entry(chunk).or_insert((low, high, 0));
        *seen = (seen.0.min(low), seen.1.max(high), seen.2 + lines);
    }
}

/// What an image visits until a time of each private area that it has of others: by owner, begin and end.
fn visited(image: &Image, clock: u64) -> BTreeMap<(u64, u64, u64), Touched> {
    let areas = regions::of(image);
    let mut out: BTreeMap<(u64, u64, u64), Touched> = BTreeMap::new();
    if areas.iter().all(|a| a.inherited_from.is_none()) {
        return out;
    }
    for c in image.cells.iter().filter(|c| image.times_of(c).0 < clock) {
        let Some(area) = regions::find(&areas, c.chunk, (c.low, c.high), image.times_of(c)) else { continue };
        let area = &areas[area];
        let Some(owner) = area.inherited_from.filter(|_| !regions::is_library(&area.name)) else { continue };
        touch(out.entry((owner, area.begin, area.end)).or_default(), c, (area.begin, area.end));
    }
    out
}

/// An owner and the images between it and heirs, with when each forked the last one on the way to an heir.
fn last_forks<'a>(
    record: &'a AccessRecord,
    owner: &Image,
    heirs: impl Iterator<Item = u64>,
) -> BTreeMap<u64, (&'a Image, u64)> {
    let mut out: BTreeMap<u64, (&Image, u64)> = BTreeMap::new();
    for heir in heirs {
        for pair in way(record, heir, owner.number).windows(2) {
            let last = out.entry(pair[1].number).or_insert((pair[1], 0));
            last.1 = last.1.max(pair[0].head.begin_clock);
        }
    }
    out
}

/// The stretches of an owner's area that count, each with those that use it.
fn stretches(record: &AccessRecord, owner: &Image, place: (u64, u64), heirs: &[Heir]) -> Vec<Heirloom> {
    let mut own = Touched::new();
    for (image, fork) in last_forks(record, owner, heirs.iter().map(|h| h.image)).values() {
        for (chunk, seen) in before(image, owner, place, *fork) {
            add(&mut own, chunk, seen, place);
        }
    }
    let all = || heirs.iter().map(|h| &h.touched).chain(std::iter::once(&own)).flat_map(|t| t.keys().copied());
    let mut out = Vec::new();
    for (first, last) in parts::runs(&all().collect()) {
        let span = |t: &Touched| {
            let of = t.range(first..=last).map(|(_, seen)| *seen);
            of.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1), a.2 + b.2)).unwrap_or_default()
        };
        let is_large = |(low, end, _): (u64, u64, u64)| (end - low) * PAGE_BYTES >= LEAST_BYTES;
        let (mut low_page, mut end_page, _) = span(&own);
        if !is_large((low_page, end_page, 0)) {
            continue;
        }
        let mut users = BTreeSet::new();
        for heir in heirs {
            let (low, end, visits) = span(&heir.touched);
            // It must meet what was there.
            let meets = low < end_page && low_page < end;
            if meets && is_large((low, end, 0)) && visits as f64 >= LEAST_LINES * heir.lines {
                users.insert((heir.image, low, end));
            }
        }
        for (_, low, end) in &users {
            (low_page, end_page) = (low_page.min(*low), end_page.max(*end));
        }
        if !users.is_empty() {
            let (name, is_huge) = known_as(record, owner, (low_page * PAGE_BYTES, end_page * PAGE_BYTES));
            let heirs = users.into_iter().map(|u| u.0).collect();
            out.push(Heirloom { owner: owner.number, low_page, end_page, name, is_huge, heirs });
        }
    }
    out
}

/// What an image had touched until a time of an owner's place, its own or one that it has of that owner.
fn before(image: &Image, owner: &Image, place: (u64, u64), clock: u64) -> Touched {
    let mut out = Touched::new();
    if image.number == owner.number {
        let chunks = place.0 / CHUNK_BYTES..=place.1 / CHUNK_BYTES;
        let is_there = |c: &&Cell| chunks.contains(&u64::from(c.chunk)) && image.times_of(c).0 < clock;
        image.cells.iter().filter(is_there).for_each(|c| touch(&mut out, c, place));
        return out;
    }
    let of_owner = |((of, ..), touched): ((u64, u64, u64), Touched)| (of == owner.number).then_some(touched);
    for (chunk, seen) in visited(image, clock).into_iter().filter_map(of_owner).flatten() {
        add(&mut out, chunk, seen, place);
    }
    out
}

/// Name of the variable that takes most of a place, or of the area around it, and whether huge pages were asked for.
fn known_as(record: &AccessRecord, owner: &Image, (begin, end): (u64, u64)) -> (String, bool) {
    let own = |s: &&Site| s.pid == owner.head.pid && !s.variable.is_empty() && s.common(begin, end) > (end - begin) / 2;
    let variable = record.sites.iter().filter(own).max_by_key(|s| s.common(begin, end));
    let common = |a: &Area| a.end.min(end).saturating_sub(a.begin.max(begin));
    let area = regions::of(owner).into_iter().filter(|a| common(a) > 0).max_by_key(common);
    let name = variable.map(|s| s.variable.clone()).or_else(|| area.as_ref().map(|a| a.name.clone()));
    (name.unwrap_or_default(), area.is_some_and(|a| a.is_huge))
}

fn image_of(record: &AccessRecord, number: u64) -> Option<(usize, &Image)> {
    record.images.iter().enumerate().find(|(_, i)| i.number == number)
}

/// Images from one up to the one whose memory it has, both among them; empty if there is no such way.
fn way(record: &AccessRecord, from: u64, to: u64) -> Vec<&Image> {
    let mut out = Vec::new();
    let mut next = image_of(record, from);
    while let Some((at, image)) = next {
        out.push(image);
        if image.number == to {
            return out;
        }
        next = record::parent(image, &record.images[..at]).and_then(|p| image_of(record, p.number));
    }
    Vec::new()
}

impl Inheritance {
    /// Notes who forked whom between an owner and one that has its memory.
    fn link(&mut self, record: &AccessRecord, heir: u64, owner: u64) {
        for pair in way(record, heir, owner).windows(2) {
            let (child, parent) = (pair[0], pair[1]);
            self.parents.insert(child.number, parent.number);
            self.children.entry(parent.number).or_default().insert(child.head.pid, child.ended_at);
            let first = self.forks.entry(parent.number).or_insert(u64::MAX);
            *first = (*first).min(child.head.begin_clock);
        }
    }

    /// Whether an owner, or an image between, touched more of an heirloom after it first forked one, and before it
    /// forked the last one on the way to an heir.
    fn grows_between_forks(&self, record: &AccessRecord, heirloom: &Heirloom) -> bool {
        let Some((_, owner)) = image_of(record, heirloom.owner) else { return false };
        let place = (heirloom.low_page * PAGE_BYTES, heirloom.end_page * PAGE_BYTES);
        let bytes = |image: &Image, clock: u64| {
            let pages = before(image, owner, place, clock).values().map(|(low, end, _)| end - low).sum::<u64>();
            pages * PAGE_BYTES
        };
        let grows = |(image, last): &(&Image, u64)| {
            let first = self.first_fork(image.number).unwrap_or(*last);
            first < *last && bytes(image, *last) >= bytes(image, first) + LEAST_BYTES
        };
        last_forks(record, owner, heirloom.heirs.iter().copied()).values().any(grows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{self, Mapping, Slice};
    use crate::image::tests::empty;

    const MAP: u32 = libc::SYS_mmap as u32;
    const CHUNK: u64 = CHUNK_BYTES;

    fn cell(slice: u32, chunk: u32, writes: u32) -> Cell {
        Cell { slice, chunk, lines: 32768, writes, high: 511, ..Cell::default() }
    }

    /// An image with a slice at each time, and its cells: number of the slice and chunk.
    fn image(number: u64, parent: u32, begin: u64, cells: &[(u32, u32)]) -> Image {
        let mut out = empty(number);
        (out.head.pid, out.head.parent, out.head.begin_clock) = (number as u32 + 10, parent, begin);
        for n in 1..10u32 {
            let at = begin + 10 * u64::from(n);
            let slice = Slice { slice: n, begin_clock: at, end_clock: at + 10, insns: 10, ..Slice::default() };
            out.slices.insert((0, n), slice);
        }
        out.cells = cells.iter().map(|(slice, chunk)| cell(*slice, *chunk, 0)).collect();
        out
    }

    /// A parent with 64 MiB from 64 chunks on, of which it touches eight chunks before it forks, and its children.
    fn record(children: Vec<Image>) -> AccessRecord {
        let mut parent = image(0, 0, 0, &[]);
        parent.cells = (64..72).map(|chunk| cell(1, chunk, 32768)).collect();
        let mapped = Mapping { call: MAP, address: 64 * CHUNK, length: 32 * CHUNK, flags: 2, ..Mapping::default() };
        parent.mappings = vec![(mapped, None)];
        let mut images = vec![parent];
        for mut child in children {
            let from = record::parent(&child, &images);
            child.inherited = from.map_or_else(Vec::new, |p| regions::inherited(p, child.head.begin_clock));
            images.push(child);
        }
        let control = format::control(&format::new_control(1 << 20, 4)).unwrap();
        AccessRecord { manifest: record::tests::manifest(), control, images, sites: Vec::new() }
    }

    fn seen(record: &AccessRecord) -> Vec<(u64, u64, Vec<u64>)> {
        let chunks = |page: u64| page / CHUNK_PAGES;
        let of = |h: &Heirloom| (chunks(h.low_page), chunks(h.end_page), h.heirs.iter().copied().collect());
        find(record, 1.0).heirlooms.iter().map(of).collect()
    }

    #[test]
    fn what_a_child_uses_and_the_parent_had_touched_is_inherited() {
        let uses = image(1, 10, 50, &[(1, 66), (1, 67)]);
        let idle = image(2, 10, 50, &[(1, 300)]);
        // Nobody had touched this part before the fork.
        let own = image(3, 10, 50, &[(1, 90), (2, 91)]);
        let early = image(4, 10, 5, &[(1, 66)]);
        let grandchild = image(5, 11, 60, &[(1, 71)]);
        assert_eq!(seen(&record(vec![uses.clone()])), [(64, 72, vec![1])]);
        assert!(seen(&record(vec![idle, own])).is_empty());
        assert!(seen(&record(vec![early])).is_empty(), "it was forked before the parent touched anything");
        // The child touches chunks that the parent never did, before it forks one that reads them.
        let between = image(1, 10, 50, &[(1, 80), (2, 81)]);
        let reader = image(5, 11, 90, &[(1, 80), (1, 81)]);
        assert_eq!(seen(&record(vec![between.clone(), reader])), [(80, 82, vec![1, 5])]);
        let too_early = image(5, 11, 55, &[(1, 80), (1, 81)]);
        assert!(seen(&record(vec![between, too_early])).is_empty(), "it was forked before");
        // Another child is forked when the parent has touched more.
        let mut two = record(vec![uses.clone(), image(2, 10, 75, &[(1, 66), (1, 70)])]);
        assert!(!find(&two, 1.0).grows);
        two.images[0].cells.push(cell(6, 72, 32768));
        assert!(find(&two, 1.0).grows && seen(&two) == [(64, 73, vec![1, 2])]);
        let all = record(vec![uses, grandchild]);
        // The grandchild's number is 5, and its parent the first child.
        assert_eq!(seen(&all), [(64, 72, vec![1, 5])]);
        let found = find(&all, 1.0);
        assert_eq!((found.parent(5), found.parent(1), found.parent(0)), (Some(1), Some(0), None));
        assert_eq!((found.first_fork(0), found.first_fork(1), found.first_fork(5)), (Some(50), Some(60), None));
    }

    #[test]
    fn a_parent_waits_for_children_that_end_before_it() {
        let mut child = image(1, 10, 50, &[(1, 66)]);
        let waits = |child: &Image, end: Option<(u64, u64)>, reaped: &[(u32, u64)]| {
            let mut record = record(vec![child.clone()]);
            (record.images[0].ended_at, record.images[0].reaped) = (end, reaped.to_vec());
            find(&record, 1.0).last_wait(&record.images[0])
        };
        child.ended_at = Some((1000, 100));
        assert_eq!(waits(&child, Some((1001, 200)), &[]), Some(u64::MAX));
        assert_eq!(waits(&child, Some((996, 200)), &[]), Some(u64::MAX), "at the same time, as far as can be told");
        assert_eq!(waits(&child, Some((990, 200)), &[]), None);
        assert_eq!(waits(&child, None, &[]), Some(u64::MAX), "a signal ended it, when the child had ended");
        assert_eq!(waits(&child, Some((1001, 200)), &[(99, 7), (11, 8)]), Some(8));
        child.ended_at = None;
        assert_eq!(waits(&child, Some((1001, 200)), &[]), None, "the child may live on");
    }
}
