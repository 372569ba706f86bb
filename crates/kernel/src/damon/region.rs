//! A region: adjacent pages of a process that are taken to be accessed alike.

/// Pages of a process from one virtual page number to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Process.
    pub process: u32,
    /// First page.
    pub start: u64,
    /// Page behind the last.
    pub end: u64,
}

impl Span {
    /// Number of pages.
    pub fn pages(&self) -> u64 {
        self.end - self.start
    }
    /// Whether both have a page.
    pub(super) fn meets(&self, other: &Self) -> bool {
        self.process == other.process && self.start < other.end && other.start < self.end
    }
}

/// A region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its pages.
    pub at: Span,
    /// Samplings of this aggregation that found an access.
    pub nr_accesses: u32,
    /// The same of the aggregation before.
    pub last_nr_accesses: u32,
    /// Aggregations since its accesses changed, or since a scheme took it.
    pub age: u32,
}

impl Region {
    /// A region of which nothing is known.
    pub fn new(at: Span) -> Self {
        Self { at, nr_accesses: 0, last_nr_accesses: 0, age: 0 }
    }
    /// Counts an aggregation into the age. The age starts anew if the accesses differ by more than `threshold`, or
    /// begin or end.
    pub(super) fn grow_older(&mut self, threshold: u32) {
        let differ = self.nr_accesses.abs_diff(self.last_nr_accesses) > threshold;
        let turned = (self.nr_accesses == 0) != (self.last_nr_accesses == 0);
        self.age = if differ || turned { 0 } else { self.age + 1 };
    }
    /// Takes in the region behind it: counts and ages are means by size (`damon_merge_two_regions`).
    pub(super) fn take_in(&mut self, next: &Self) {
        let (a, b) = (self.at.pages(), next.at.pages());
        let mean = |x: u32, y: u32| ((u64::from(x) * a + u64::from(y) * b) / (a + b)) as u32;
        self.nr_accesses = mean(self.nr_accesses, next.nr_accesses);
        self.age = mean(self.age, next.age);
        self.at.end = next.at.end;
    }
}
