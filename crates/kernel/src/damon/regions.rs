//! The regions of all processes: how they follow the mappings, merge and split (mm/damon/core.c).

use super::region::{Region, Span};
use numalab_base::rng::Rng;

/// Regions are cut at tenths of their size.
const TENTHS: u64 = 10;

/// Regions of all processes, in order of process and address.
#[derive(Clone, Debug, Default)]
pub struct Regions {
    /// The regions.
    pub list: Vec<Region>,
    /// Their number before the last split.
    pub(super) before_split: usize,
}

impl Regions {
    /// Follows what is mapped: `spans` in order (`damon_set_regions`). Regions outside are dropped, and those at the
    /// border of a span or of a hole are cut or stretched to it. A span without a region gets new ones of at most
    /// `piece` pages.
    pub fn follow(&mut self, spans: &[Span], piece: u64) {
        let old = std::mem::take(&mut self.list);
        for span in spans {
            let first = self.list.len();
            self.list.extend(old.iter().filter(|r| r.at.meets(span)));
            let Some(last) = self.list.len().checked_sub(1).filter(|last| *last >= first) else {
                self.add_new(*span, piece);
                continue;
            };
            self.list[first].at.start = span.start;
            self.list[last].at.end = span.end;
            for i in first..last {
                self.list[i].at.end = self.list[i + 1].at.start;
            }
        }
    }
    fn add_new(&mut self, span: Span, piece: u64) {
        let count = span.pages().div_ceil(piece.max(1)).max(1);
        for i in 0..count {
            let at = |i: u64| span.start + span.pages() * i / count;
            self.list.push(Region::new(Span { start: at(i), end: at(i + 1), ..span }));
        }
    }
    /// Pages that a region may have so that there are at least `min_nr_regions` (`damon_region_sz_limit`).
    pub fn largest(spans: &[Span], min_nr_regions: u32) -> u64 {
        let pages: u64 = spans.iter().map(Span::pages).sum();
        (pages / u64::from(min_nr_regions.max(1))).max(1)
    }

    /// The end of an aggregation: regions grow older, and adjacent ones whose counts differ by at most `threshold`
    /// merge up to `largest` pages. While there are more than `max_nr_regions`, the threshold doubles, up to
    /// `max_nr_accesses` (`kdamond_merge_regions`).
    pub fn merge(&mut self, mut threshold: u32, largest: u64, max_nr_regions: u32, max_nr_accesses: u32) {
        self.list.iter_mut().for_each(|r| r.grow_older(threshold));
        loop {
            self.merge_within(threshold, largest);
            threshold = (threshold * 2).max(1);
            if self.list.len() <= max_nr_regions as usize || threshold / 2 >= max_nr_accesses {
                return;
            }
        }
    }
    fn merge_within(&mut self, threshold: u32, largest: u64) {
        self.list.dedup_by(|next, r| {
            let merges = r.at.process == next.at.process
                && r.at.end == next.at.start
                && r.nr_accesses.abs_diff(next.nr_accesses) <= threshold
                && r.at.pages() + next.at.pages() <= largest;
            if merges {
                r.take_in(next);
            }
            merges
        });
    }
    /// A new aggregation begins: counts start anew.
    pub fn reset_aggregated(&mut self) {
        for r in &mut self.list {
            r.last_nr_accesses = std::mem::take(&mut r.nr_accesses);
        }
    }
    /// Splits every region in two at random, or in three if the last split brought nothing, as long as there are fewer
    /// than half of `max_nr_regions` (`kdamond_split_regions`).
    pub fn split(&mut self, max_nr_regions: u32, rng: &mut Rng) {
        let now = self.list.len();
        if now > max_nr_regions as usize / 2 {
            return;
        }
        let stuck = self.before_split == now && now < max_nr_regions as usize / 3;
        let parts = if stuck { 3 } else { 2 };
        let old = std::mem::take(&mut self.list);
        for mut rest in old {
            for _ in 1..parts {
                let pages = rest.at.pages();
                let first = pages * (1 + rng.below(TENTHS - 1)) / TENTHS;
                if pages > 2 && first > 0 && first < pages {
                    self.list.push(Region { at: Span { end: rest.at.start + first, ..rest.at }, ..rest });
                    rest.at.start += first;
                }
            }
            self.list.push(rest);
        }
        self.before_split = now;
    }
    /// Cuts a region after `pages`; the second part follows it in the list.
    pub(super) fn split_at(&mut self, index: usize, pages: u64) {
        let r = &mut self.list[index];
        let second = Region { at: Span { start: r.at.start + pages, ..r.at }, ..*r };
        r.at.end = second.at.start;
        self.list.insert(index + 1, second);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: u64, end: u64) -> Span {
        Span { process: 0, start, end }
    }
    fn regions(of: &[(u64, u64, u32)]) -> Regions {
        let one =
            |&(start, end, nr_accesses): &(u64, u64, u32)| Region { nr_accesses, ..Region::new(span(start, end)) };
        Regions { list: of.iter().map(one).collect(), before_split: 0 }
    }
    fn shape(r: &Regions) -> Vec<(u64, u64, u32)> {
        r.list.iter().map(|r| (r.at.start, r.at.end, r.nr_accesses)).collect()
    }

    #[test]
    fn regions_follow_the_mappings() {
        let mut r = Regions::default();
        r.follow(&[span(0, 100), span(200, 205)], 30);
        assert_eq!(shape(&r), [(0, 25, 0), (25, 50, 0), (50, 75, 0), (75, 100, 0), (200, 205, 0)]);
        r.list[1].nr_accesses = 7;
        r.follow(&[span(10, 60), span(300, 310)], 30);
        assert_eq!(shape(&r), [(10, 25, 0), (25, 50, 7), (50, 60, 0), (300, 310, 0)]);
        r.follow(&[span(5, 90), span(300, 310)], 30);
        assert_eq!(shape(&r), [(5, 25, 0), (25, 50, 7), (50, 90, 0), (300, 310, 0)]);
    }

    #[test]
    fn like_neighbours_merge_by_size() {
        let mut r = regions(&[(0, 10, 20), (10, 40, 18), (40, 50, 3), (60, 70, 3)]);
        r.merge(2, 1000, 100, 20);
        assert_eq!(shape(&r), [(0, 40, 18), (40, 50, 3), (60, 70, 3)], "(20 * 10 + 18 * 30) / 40 = 18");
        let mut r = regions(&[(0, 10, 20), (10, 40, 18)]);
        r.merge(2, 39, 100, 20);
        assert_eq!(r.list.len(), 2, "together they are too large");
        let mut r = regions(&[(0, 10, 20), (10, 20, 10), (20, 30, 0), (30, 40, 20)]);
        r.merge(1, 1000, 2, 20);
        assert!(r.list.len() <= 2, "{:?}", shape(&r));
    }

    #[test]
    fn ages_start_anew_when_accesses_change_begin_or_end() {
        let region = |now, last| Region { nr_accesses: now, last_nr_accesses: last, age: 5, ..Region::new(span(0, 1)) };
        let age = |now, last| {
            let mut r = region(now, last);
            r.grow_older(2);
            r.age
        };
        assert_eq!([age(10, 9), age(10, 7), age(1, 0), age(0, 1), age(0, 0)], [6, 0, 0, 0, 6]);
    }

    #[test]
    fn splits_keep_the_pages_and_stop_at_half_of_the_most() {
        let mut rng = Rng::new(1);
        let mut r = regions(&[(0, 1000, 4), (1000, 1002, 4)]);
        r.split(100, &mut rng);
        assert_eq!(r.list.len(), 3, "two pages are not split");
        assert_eq!((r.list[0].at.end, r.list[2].at), (r.list[1].at.start, span(1000, 1002)));
        for _ in 0..20 {
            r.split(100, &mut rng);
        }
        assert!(r.list.len() > 50 && r.list.len() <= 100, "{}", r.list.len());
        let pages: u64 = r.list.iter().map(|r| r.at.pages()).sum();
        assert_eq!(pages, 1002);
        assert!(r.list.windows(2).all(|w| w[0].at.end == w[1].at.start));
    }
}
