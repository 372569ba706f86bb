//! Pages that a device holds: those of direct I/O in flight, and mappings that are pinned for good.
//!
//! A pinned page has a raised reference count, so nothing moves it. Only what is in flight is listed, at most one
//! transfer per thread, so a workload without pins pays nothing. Slices are planned ahead, so a transfer carries the
//! time from which it holds its pages.

use numalab_kernel::mm::CHUNK_PAGES;

/// A mapping of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Process number.
    pub process: u32,
    /// Mapping id.
    pub vma: u32,
    /// Its shared object, if it maps one: other mappings of it show the same pages.
    pub object: Option<u32>,
}

impl Mapping {
    /// Whether both show the same pages.
    fn shows_pages_of(&self, other: &Self) -> bool {
        (self.process, self.vma) == (other.process, other.vma) || self.object.is_some() && self.object == other.object
    }
}

/// A transfer in flight, with the pages `first..end` of its mapping, counted from the start of its first chunk.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    of: Mapping,
    first: u64,
    end: u64,
    from_ns: u64,
    until_ns: u64,
}

/// Pinned pages.
#[derive(Debug, Default)]
pub struct Pins {
    in_flight: Vec<Transfer>,
    /// Mappings whose pages are pinned for good.
    for_good: Vec<(u32, u32)>,
}

/// Number of a page in its mapping, counted from the start of the first chunk.
pub fn page_number(chunk: usize, page: usize) -> u64 {
    chunk as u64 * CHUNK_PAGES + page as u64
}

impl Pins {
    /// Pins the pages `pages.0..pages.1` of a mapping from `ns.0` to `ns.1`; `now_ns` forgets transfers that are over.
    pub fn start(&mut self, of: Mapping, pages: (u64, u64), ns: (u64, u64), now_ns: u64) {
        self.in_flight.retain(|t| t.until_ns > now_ns);
        self.in_flight.push(Transfer { of, first: pages.0, end: pages.1, from_ns: ns.0, until_ns: ns.1 });
    }
    /// Pins a mapping for good.
    pub fn pin_mapping(&mut self, process: u32, vma: u32) {
        self.for_good.push((process, vma));
    }
    /// Whether nothing was ever pinned.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.in_flight.is_empty() && self.for_good.is_empty()
    }
    /// Whether any of the pages `pages.0..pages.1` of a mapping is pinned at `at_ns`.
    pub fn holds(&self, of: Mapping, pages: (u64, u64), at_ns: u64) -> bool {
        self.for_good.contains(&(of.process, of.vma))
            || self.flying(of, at_ns).any(|(first, end)| first < pages.1 && pages.0 < end)
    }
    /// Adds the page ranges of a mapping that are pinned at `at_ns` to `out`.
    pub fn ranges(&self, of: Mapping, at_ns: u64, out: &mut Vec<(u64, u64)>) {
        if self.for_good.contains(&(of.process, of.vma)) {
            out.push((0, u64::MAX));
        }
        out.extend(self.flying(of, at_ns));
    }
    fn flying(&self, of: Mapping, at_ns: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let now = move |t: &&Transfer| t.of.shows_pages_of(&of) && t.from_ns <= at_ns && at_ns < t.until_ns;
        self.in_flight.iter().filter(now).map(|t| (t.first, t.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_holds_its_pages_while_it_is_in_flight() {
        let of = |process, object| Mapping { process, vma: 3, object };
        let mut pins = Pins::default();
        assert!(pins.is_empty());
        pins.start(of(0, None), (10, 20), (100, 200), 0);
        let holds = |pins: &Pins, m, at| pins.holds(m, (19, 25), at);
        assert!(!holds(&pins, of(0, None), 99) && holds(&pins, of(0, None), 100) && !holds(&pins, of(0, None), 200));
        assert!(!holds(&pins, of(1, None), 100) && !pins.holds(of(0, None), (20, 25), 100));
        // Another mapping of the same object shows the same pages.
        pins.start(of(0, Some(7)), (10, 20), (100, 200), 0);
        assert!(holds(&pins, of(1, Some(7)), 150) && !holds(&pins, of(1, Some(8)), 150));
        // What is over is forgotten, and a mapping that is pinned stays so.
        pins.start(of(5, None), (0, 1), (300, 400), 250);
        assert!(!holds(&pins, of(1, Some(7)), 150));
        pins.pin_mapping(2, 3);
        assert!(holds(&pins, of(2, None), 1 << 60));
        let mut ranges = Vec::new();
        pins.ranges(of(2, None), 0, &mut ranges);
        assert_eq!(ranges, [(0, u64::MAX)]);
    }
}
