//! The mappings of an image: which of them holds an address at a time, and how much of each was touched.

use crate::format::{Mapping, CHUNK_BYTES, PAGE_BYTES};
use crate::image::{Area, Image};
use crate::sites::Site;

/// System calls that change mappings.
const MMAP: u32 = libc::SYS_mmap as u32;
const MUNMAP: u32 = libc::SYS_munmap as u32;
const BRK: u32 = libc::SYS_brk as u32;
const MREMAP: u32 = libc::SYS_mremap as u32;
const MADVISE: u32 = libc::SYS_madvise as u32;
/// Flag of mmap, alone or in MAP_SHARED_VALIDATE.
const SHARED: u32 = libc::MAP_SHARED as u32;

/// The areas of an image in the order in which they were mapped. An area that was unmapped and mapped again at the same
/// place counts as one.
pub fn of(image: &Image) -> Vec<Area> {
    until(image, u64::MAX)
}

/// The areas of an image as they were at a time.
fn until(image: &Image, clock: u64) -> Vec<Area> {
    let mut out: Vec<Area> = image.inherited.clone();
    for (m, file) in image.mappings.iter().take_while(|(m, _)| m.clock <= clock) {
        match m.call {
            MMAP => {
                let shared = (m.flags & SHARED != 0).then(|| match file {
                    Some(file) => file.clone(),
                    None => format!("{} {:x}", image.head.pid, m.address),
                });
                map(&mut out, (m.address, m.length), m.clock, (short(file.as_deref()), shared));
            }
            MUNMAP => unmap(&mut out, m.address, m.length, m.clock),
            MREMAP => moved(&mut out, m),
            MADVISE => advised(&mut out, m),
            BRK => grow_heap(&mut out, m),
            _ => {}
        }
    }
    out
}

/// Areas, and the large variables inside them as areas of their own.
pub fn with_variables(mut areas: Vec<Area>, sites: &[&Site]) -> Vec<Area> {
    // The last of several areas that hold an address is taken, so variables stand last.
    for site in sites.iter().filter(|s| !s.variable.is_empty()) {
        let (begin, end) = (site.address, site.address.saturating_add(site.bytes));
        if areas.iter().any(|a| a.begin <= begin && end <= a.end) {
            areas.push(Area::private((begin, end), 0, site.variable.clone()));
        }
    }
    areas
}

/// Where an area comes from: the place of the block, or the variable, that takes most of it.
pub fn place(area: &Area, sites: &[&Site]) -> Option<String> {
    let common = |s: &&&Site| s.common(area.begin, area.end);
    let of = sites.iter().filter(|s| common(s) > 0).max_by_key(common)?;
    Some(of.place.clone())
}

/// Whether a file is a shared library, by its name.
pub fn is_library(name: &str) -> bool {
    name.ends_with(".so") || name.contains(".so.")
}

fn short(file: Option<&str>) -> String {
    let name = file.and_then(|f| f.rsplit('/').next()).unwrap_or_default();
    name.trim_end_matches(" (deleted)").into()
}

/// Smallest private area that a child is said to have of its parent, bytes.
const LEAST_INHERITED: u64 = 1 << 20;

/// The areas that the child of a fork has of its parent, which had them at this time. Private ones are known by who
/// mapped them first.
pub fn inherited(parent: &Image, clock: u64) -> Vec<Area> {
    let is_there = |a: &Area| a.from <= clock && clock < a.to;
    let matters = |a: &Area| a.shared.is_some() || a.end - a.begin >= LEAST_INHERITED;
    let of_child = |a: Area| {
        let owner = a.inherited_from.unwrap_or(parent.number);
        Area { from: 0, to: u64::MAX, inherited_from: a.shared.is_none().then_some(owner), ..a }
    };
    until(parent, clock).into_iter().filter(is_there).filter(matters).map(of_child).collect()
}

fn map(areas: &mut Vec<Area>, (begin, length): (u64, u64), clock: u64, (name, shared): (String, Option<String>)) {
    let end = begin.saturating_add(length.max(1).div_ceil(PAGE_BYTES).saturating_mul(PAGE_BYTES));
    let is_same = |a: &&mut Area| (a.begin, a.end) == (begin, end) && a.name == name && a.shared == shared;
    if let Some(same) = areas.iter_mut().filter(|a| a.inherited_from.is_none()).find(is_same) {
        same.to = u64::MAX;
        return;
    }
    // A library's segments are mapped over its first mapping.
    let inside = areas.iter().any(|a| a.to == u64::MAX && a.begin <= begin && end <= a.end && !name.is_empty());
    if !inside {
        areas.push(Area { shared, ..Area::private((begin, end), clock, name) });
    }
}

fn unmap(areas: &mut [Area], begin: u64, length: u64, clock: u64) {
    let end = begin.saturating_add(length);
    for a in areas.iter_mut().filter(|a| a.to == u64::MAX && a.begin < end && begin < a.end) {
        if begin <= a.begin && a.end <= end {
            a.to = clock;
        } else if begin <= a.begin {
            a.begin = end;
        } else if a.end <= end {
            a.end = begin;
        }
    }
}

/// What mremap moves or makes larger stays one area if it stays in place.
fn moved(areas: &mut Vec<Area>, m: &Mapping) {
    let end = m.address.saturating_add(m.length);
    match areas.iter_mut().find(|a| a.to == u64::MAX && a.begin == m.from) {
        Some(a) if m.address == m.from => a.end = a.end.max(end),
        Some(a) => {
            let known = (a.name.clone(), a.shared.clone());
            a.to = m.clock;
            map(areas, (m.address, m.length), m.clock, known);
        }
        None => map(areas, (m.address, m.length), m.clock, (String::new(), None)),
    }
}

/// Advice about huge pages for most of an area is advice about it.
fn advised(areas: &mut [Area], m: &Mapping) {
    let is_huge = match i32::try_from(m.protection) {
        Ok(libc::MADV_HUGEPAGE) => true,
        Ok(libc::MADV_NOHUGEPAGE) => false,
        _ => return,
    };
    let end = m.address.saturating_add(m.length);
    for a in areas.iter_mut().filter(|a| a.to == u64::MAX) {
        let common = a.end.min(end).saturating_sub(a.begin.max(m.address));
        if common > (a.end - a.begin) / 2 {
            a.is_huge = is_huge;
        }
    }
}

fn grow_heap(areas: &mut Vec<Area>, m: &Mapping) {
    let end = m.address.saturating_add(m.length);
    // What a child's heap grows by is the child's own.
    let is_heap = |a: &&mut Area| a.name == "heap" && a.inherited_from.is_none();
    match areas.iter_mut().filter(is_heap).find(|a| a.end >= m.address && a.begin <= m.address) {
        Some(heap) => heap.end = heap.end.max(end),
        None => areas.push(Area::private((m.address, end), m.clock, "heap".into())),
    }
}

/// The area that holds most of the pages `low` to `high` of a chunk, at a time between two clocks.
pub fn find(areas: &[Area], chunk: u32, (low, high): (u16, u16), (begin, end): (u64, u64)) -> Option<usize> {
    let first = u64::from(chunk) * CHUNK_BYTES;
    let (from, to) = (first + u64::from(low) * PAGE_BYTES, first + (u64::from(high) + 1) * PAGE_BYTES);
    let common = |a: &Area| a.end.min(to).saturating_sub(a.begin.max(from));
    let alive = |a: &Area| a.from <= end && begin <= a.to;
    (0..areas.len()).filter(|&i| alive(&areas[i]) && common(&areas[i]) > 0).max_by_key(|&i| (common(&areas[i]), i))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::tests::empty;

    #[test]
    fn a_library_with_a_long_name_is_one() {
        let file = "ages/numpy/core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so";
        assert!(is_library(&short(Some(file))));
        assert!(!is_library(&short(Some("/tmp/data.sock"))));
    }

    fn mapping(call: u32, clock: u64, address: u64, length: u64) -> Mapping {
        Mapping { call, clock, address, length, ..Mapping::default() }
    }

    fn areas(mappings: &[Mapping]) -> Vec<Area> {
        let mut image = empty(0);
        image.mappings = mappings.iter().map(|m| (*m, None)).collect();
        of(&image)
    }

    #[test]
    fn an_arena_is_what_is_left_of_its_mapping() {
        // As malloc does: twice the size is mapped, and what is not aligned goes back.
        let all = areas(&[
            mapping(MMAP, 1, 0x1000_0000, 0x800_0000),
            mapping(MUNMAP, 2, 0x1000_0000, 0x300_0000),
            mapping(MUNMAP, 3, 0x1700_0000, 0x100_0000),
        ]);
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].begin, all[0].end, all[0].to), (0x1300_0000, 0x1700_0000, u64::MAX));
    }

    #[test]
    fn the_heap_grows_and_a_place_is_used_again() {
        let all = areas(&[
            mapping(BRK, 1, 0x4000, 0x2000),
            mapping(BRK, 2, 0x6000, 0x2000),
            mapping(MMAP, 3, 0x10_0000, 0x1000),
            mapping(MUNMAP, 4, 0x10_0000, 0x1000),
            mapping(MMAP, 5, 0x10_0000, 0x1000),
            mapping(MREMAP, 6, 0x20_0000, 0x3000),
        ]);
        assert_eq!((all.len(), all[0].begin, all[0].end), (3, 0x4000, 0x8000));
        assert_eq!((all[1].from, all[1].to), (3, u64::MAX));
        assert_eq!(find(&all, 0, (4, 4), (0, 9)), Some(0));
        assert_eq!(find(&all, 0, (256, 256), (0, 9)), Some(1));
        assert_eq!(find(&all, 0, (511, 511), (0, 9)), None);
        assert_eq!(find(&all, 7, (0, 511), (0, 9)), None);
    }

    #[test]
    fn what_is_mapped_shared_has_one_key_in_parent_and_child() {
        let mut parent = empty(0);
        let flags = |m: Mapping, flags: u32| Mapping { flags, ..m };
        let file = Some("/dev/shm/x".to_string());
        parent.mappings = vec![
            (flags(mapping(MMAP, 1, 0x10_0000, 0x1000), 0x21), None),
            (flags(mapping(MMAP, 2, 0x20_0000, 0x1000), 1), file.clone()),
            (flags(mapping(MMAP, 3, 0x30_0000, 0x1000), 2), file),
            (mapping(MUNMAP, 5, 0x20_0000, 0x1000), None),
            (flags(mapping(MMAP, 6, 0x40_0000, 0x1000), 1), Some("later".into())),
        ];
        let at = |clock: u64| inherited(&parent, clock);
        let begins = |areas: &[Area]| areas.iter().map(|a| a.begin).collect::<Vec<_>>();
        assert_eq!(begins(&at(4)), [0x10_0000, 0x20_0000], "private memory is the child's own");
        assert_eq!(begins(&at(5)), [0x10_0000], "what was unmapped is not there");
        let mut child = empty(1);
        child.inherited = at(4);
        let key = |image: &Image| of(image)[0].shared.clone();
        assert!(key(&child).is_some());
        assert_eq!(key(&child), key(&parent));
        assert_eq!(of(&child)[1].shared.as_deref(), Some("/dev/shm/x"));
    }

    #[test]
    fn private_memory_is_inherited_from_who_mapped_it() {
        const MIB: u64 = 1 << 20;
        let data = |clock: u64| (mapping(MMAP, clock, 64 * MIB, 4 * MIB), Some("/bin/program".to_string()));
        let mut parent = empty(3);
        parent.mappings = vec![
            data(0),
            (mapping(BRK, 1, 16 * MIB, 2 * MIB), None),
            (mapping(MMAP, 2, 32 * MIB, 8 * MIB), None),
            (mapping(MMAP, 3, 48 * MIB, MIB / 2), None),
            (mapping(BRK, 7, 18 * MIB, MIB), None),
        ];
        let seen = |areas: Vec<Area>| -> Vec<(u64, u64, Option<u64>)> {
            areas.iter().map(|a| (a.begin / MIB, a.end / MIB, a.inherited_from)).collect()
        };
        let at_fork = inherited(&parent, 5);
        let all = vec![(64, 68, Some(3)), (16, 18, Some(3)), (32, 40, Some(3))];
        assert_eq!(seen(at_fork.clone()), all, "half a MiB does not matter, and the heap grew later");
        // The child's heap grows, and it gives back a part. Its data is noted again, as that of the program.
        let mut child = empty(4);
        child.inherited = at_fork;
        child.mappings =
            vec![data(5), (mapping(BRK, 6, 18 * MIB, 4 * MIB), None), (mapping(MUNMAP, 7, 32 * MIB, 2 * MIB), None)];
        let own = vec![(64, 68, Some(3)), (16, 18, Some(3)), (34, 40, Some(3)), (18, 22, None)];
        assert_eq!(seen(of(&child)), own);
        let of_its_child = vec![(64, 68, Some(3)), (16, 18, Some(3)), (34, 40, Some(3)), (18, 22, Some(4))];
        assert_eq!(seen(inherited(&child, 9)), of_its_child);
        // What it maps at the place of something that it has given back is its own.
        child.mappings.push((mapping(MUNMAP, 8, 34 * MIB, 6 * MIB), None));
        child.mappings.push((mapping(MMAP, 9, 34 * MIB, 6 * MIB), None));
        assert_eq!(seen(inherited(&child, 9)).last(), Some(&(34, 40, Some(4))));
    }

    #[test]
    fn advice_for_most_of_an_area_is_advice_about_it() {
        let advice = |advice: libc::c_int, address: u64| Mapping {
            protection: advice as u32,
            ..mapping(MADVISE, 2, address, 0x20_0000)
        };
        let begun = [mapping(MMAP, 1, 0x10_0000, 0x30_0000), mapping(MMAP, 1, 0x80_0000, 0x80_0000)];
        let huge = |more: &[Mapping]| areas(&[&begun[..], more].concat()).iter().map(|a| a.is_huge).collect::<Vec<_>>();
        let asked = [advice(libc::MADV_HUGEPAGE, 0x20_0000), advice(libc::MADV_HUGEPAGE, 0x80_0000)];
        assert_eq!(huge(&asked), [true, false], "two thirds of the first, a quarter of the second");
        assert_eq!(huge(&[asked[0], advice(libc::MADV_NOHUGEPAGE, 0x20_0000)]), [false, false]);
        assert_eq!(huge(&[asked[0], advice(libc::MADV_DONTNEED, 0x20_0000)]), [true, false]);
    }

    #[test]
    fn addresses_at_the_end_of_everything_do_not_overflow() {
        let all = areas(&[
            mapping(MMAP, 1, u64::MAX - 10, u64::MAX),
            mapping(MUNMAP, 2, u64::MAX - 5, u64::MAX),
            mapping(BRK, 2, u64::MAX, u64::MAX),
            mapping(MREMAP, 2, u64::MAX, u64::MAX),
        ]);
        assert!(find(&all, u32::MAX, (0, 511), (0, u64::MAX)).is_none());
    }
}
