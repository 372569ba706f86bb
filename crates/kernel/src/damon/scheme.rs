//! A scheme: which regions it takes, and in which order (`kdamond_apply_schemes`, mm/damon/core.c).

use super::destination::Destination;
use super::goal::GoalMetric;
use super::quota::Quota;
use super::region::{Region, Span};
use super::regions::Regions;
use super::score::{hot_score, ScoreWeights, MAX_SCORE};

/// Bytes of a page.
const PAGE: u64 = crate::mm::PAGE_BYTES;

/// What a scheme does with the pages that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Migrates hot pages, the hottest first (`DAMOS_MIGRATE_HOT`).
    MigrateHot,
    /// Migrates cold pages, the coldest first (`DAMOS_MIGRATE_COLD`).
    MigrateCold,
}

/// What an administrator sets for a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemeSettings {
    /// What it does.
    pub action: Action,
    /// Where pages go.
    pub to: Destination,
    /// The only node from which pages go; `None` for any.
    pub from: Option<u16>,
    /// Fewest and most accesses of a region in an aggregation.
    pub nr_accesses: (u32, u32),
    /// Least and greatest age of a region, aggregations.
    pub age: (u32, u32),
    /// Whether the accessed bit of each page must agree: set for hot pages, clear for cold ones (filter `young`).
    pub young: bool,
    /// It is applied this often, ms; 0 for after each aggregation.
    pub apply_ms: u64,
    /// How scores weigh.
    pub weights: ScoreWeights,
    /// Limit of a window, bytes; 0 for none.
    pub quota_bytes: u64,
    /// Length of a window, ms.
    pub quota_reset_ms: u64,
    /// Goal of the quota: metric, node, 1/10000.
    pub goal: (GoalMetric, u16, u64),
}

/// Counts of a scheme (`stats/` of sysfs), in regions and pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchemeStats {
    /// Regions that it took.
    pub nr_tried: u64,
    /// Their pages.
    pub pages_tried: u64,
    /// Regions of which a page moved.
    pub nr_applied: u64,
    /// Pages that moved.
    pub pages_applied: u64,
    /// Windows in which the quota was used up.
    pub qt_exceeds: u64,
}

/// How accesses are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counting {
    /// Samplings of an aggregation.
    pub max_nr_accesses: u32,
    /// Length of an aggregation, us.
    pub aggr_us: u64,
}

/// A scheme at work.
#[derive(Clone, Debug)]
pub struct Scheme {
    /// Its settings.
    pub set: SchemeSettings,
    /// Its quota.
    pub quota: Quota,
    /// Its counts.
    pub stats: SchemeStats,
    /// When it is applied next, ns.
    next_ns: u64,
    /// Lowest score that the quota has room for.
    min_score: u32,
    /// Where the last window ended: process and page to go on from.
    go_on_from: Option<(u32, u64)>,
}

impl Scheme {
    /// A scheme that has not been applied yet.
    pub fn new(set: SchemeSettings) -> Self {
        Self {
            set,
            quota: Quota::new(set.quota_bytes, set.quota_reset_ms, set.goal),
            stats: SchemeStats::default(),
            next_ns: set.apply_ms * 1_000_000,
            min_score: 0,
            go_on_from: None,
        }
    }
    /// Whether it is applied at the aggregation that ends now.
    pub fn is_due(&mut self, now_ns: u64) -> bool {
        if now_ns < self.next_ns {
            return false;
        }
        self.next_ns = now_ns + self.set.apply_ms * 1_000_000;
        true
    }
    /// Whether accesses and age of a region are those that it looks for.
    fn wants(&self, r: &Region) -> bool {
        let inside = |x: u32, (least, most): (u32, u32)| x >= least && x <= most;
        inside(r.nr_accesses, self.set.nr_accesses) && inside(r.age, self.set.age)
    }
    fn score(&self, r: &Region, c: Counting) -> u32 {
        let hot = hot_score(r, c.max_nr_accesses, c.aggr_us, self.set.weights);
        match self.set.action {
            Action::MigrateHot => hot,
            Action::MigrateCold => MAX_SCORE - hot,
        }
    }
    /// Takes the lowest score with which all regions above fit into the quota (`damos_adjust_quota`).
    fn choose_min_score(&mut self, regions: &Regions, c: Counting) {
        self.min_score = 0;
        let Some(bytes) = self.quota.bytes else { return };
        let mut by_score = [0u64; MAX_SCORE as usize + 1];
        for r in regions.list.iter().filter(|r| self.wants(r)) {
            by_score[self.score(r, c) as usize] += r.at.pages() * PAGE;
        }
        let mut sum = 0;
        for score in (0..=MAX_SCORE).rev() {
            sum += by_score[score as usize];
            if sum >= bytes {
                self.min_score = score;
                return;
            }
        }
    }

    /// Applies the scheme to the regions that it wants. `measured_bp` is the present measure of its goal. `migrate`
    /// moves what it can of a span and returns the pages that moved. A region is cut where the quota ends; there the
    /// next window goes on.
    pub fn apply(
        &mut self,
        regions: &mut Regions,
        c: Counting,
        (now_ns, measured_bp): (u64, u64),
        mut migrate: impl FnMut(Span) -> u64,
    ) {
        let full = self.quota.bytes.is_some() && self.quota.left() == Some(0);
        self.quota.start_window(now_ns, measured_bp);
        self.stats.qt_exceeds += u64::from(full && self.quota.charged_bytes == 0);
        self.choose_min_score(regions, c);
        let mut i = 0;
        while i < regions.list.len() {
            let left = self.quota.left().map(|bytes| bytes / PAGE);
            if left == Some(0) {
                return;
            }
            let r = regions.list[i];
            if self.is_before_the_start(regions, i) || !self.wants(&r) || self.score(&r, c) < self.min_score {
                i += 1;
                continue;
            }
            if let Some(left) = left.filter(|left| *left < r.at.pages()) {
                regions.split_at(i, left);
            }
            let at = regions.list[i].at;
            let moved = migrate(at);
            self.quota.charged_bytes += at.pages() * PAGE;
            self.stats.nr_tried += 1;
            self.stats.pages_tried += at.pages();
            self.stats.nr_applied += u64::from(moved > 0);
            self.stats.pages_applied += moved;
            regions.list[i].age = 0;
            if self.quota.left().is_some_and(|bytes| bytes < PAGE) {
                self.go_on_from = Some((at.process, at.end));
            }
            i += 1;
        }
    }
    /// Whether a region lies before the place where the last window ended. A region across it is cut there. The place
    /// is forgotten once it is passed (`damos_skip_charged_region`).
    fn is_before_the_start(&mut self, regions: &mut Regions, i: usize) -> bool {
        let Some((process, page)) = self.go_on_from else { return false };
        let at = regions.list[i].at;
        let before = (at.process, at.end) <= (process, page);
        let last = i + 1 == regions.list.len();
        if !before && at.process == process && at.start < page {
            regions.split_at(i, page - at.start);
            return true;
        }
        if !before || last {
            self.go_on_from = None;
        }
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_base::node_weights::NodeWeights;

    const COUNTING: Counting = Counting { max_nr_accesses: 20, aggr_us: 100_000 };

    fn hot(quota_pages: u64) -> Scheme {
        Scheme::new(SchemeSettings {
            action: Action::MigrateHot,
            to: Destination { target_nid: 0, dests: NodeWeights::NONE },
            from: None,
            nr_accesses: (1, u32::MAX),
            age: (0, u32::MAX),
            young: false,
            apply_ms: 1000,
            weights: ScoreWeights { nr_accesses: 100, age: 100 },
            quota_bytes: quota_pages * PAGE,
            quota_reset_ms: 1000,
            goal: (GoalMetric::None, 0, 0),
        })
    }
    fn regions(of: &[(u64, u64, u32)]) -> Regions {
        let one = |&(start, end, nr_accesses): &(u64, u64, u32)| Region {
            nr_accesses,
            ..Region::new(Span { process: 0, start, end })
        };
        Regions { list: of.iter().map(one).collect(), ..Regions::default() }
    }
    /// Spans that the scheme takes at `now_s`, all of whose pages move.
    fn taken(s: &mut Scheme, r: &mut Regions, now_s: u64) -> Vec<(u64, u64)> {
        let mut out = Vec::new();
        s.apply(r, COUNTING, (now_s * 1_000_000_000, 0), |at| {
            out.push((at.start, at.end));
            at.pages()
        });
        out
    }

    #[test]
    fn only_regions_of_the_pattern_are_taken() {
        let mut r = regions(&[(0, 10, 0), (10, 30, 1), (30, 40, 20)]);
        assert_eq!(taken(&mut hot(0), &mut r, 1), [(10, 30), (30, 40)]);
        let mut cold = hot(0);
        cold.set = SchemeSettings { action: Action::MigrateCold, nr_accesses: (0, 0), ..cold.set };
        assert_eq!(taken(&mut cold, &mut r, 1), [(0, 10)]);
    }

    #[test]
    fn the_hottest_come_first_and_the_quota_cuts_a_region() {
        let mut r = regions(&[(0, 100, 2), (100, 130, 20), (130, 230, 3)]);
        let mut s = hot(20);
        assert_eq!(taken(&mut s, &mut r, 1), [(100, 120)], "30 hot pages do not fit into 20");
        assert_eq!((s.stats.pages_tried, s.stats.pages_applied), (20, 20));
        assert_eq!(taken(&mut s, &mut r, 1), [], "the window is used up");
        assert_eq!(taken(&mut s, &mut r, 2), [(120, 130)], "the next window goes on where it ended");
        assert_eq!(s.stats.qt_exceeds, 1);
    }

    #[test]
    fn applications_have_an_interval() {
        let mut s = hot(0);
        assert_eq!([s.is_due(900_000_000), s.is_due(1_000_000_000), s.is_due(1_100_000_000)], [false, true, false]);
        assert!(s.is_due(2_000_000_000));
    }
}
