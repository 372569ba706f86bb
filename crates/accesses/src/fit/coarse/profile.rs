//! Where what threads do goes: lines and pages by places of regions. Two profiles tell how many accesses a join moves.

use crate::fit::pattern::{Part, Tier, Visit};
use crate::fit::region::Region;
use crate::fit::usage::Order;
use crate::format::{LINE_BYTES, PAGE_BYTES};

/// Equal places of a region.
pub const PLACES: usize = 64;
/// Lines of a page.
const LINES_OF_PAGE: f64 = (PAGE_BYTES / LINE_BYTES) as f64;

/// What goes to a place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Place {
    /// Lines that are read.
    pub reads: f64,
    /// Lines that are written.
    pub writes: f64,
    /// Times that a page is come to: several lines of it in a row are one.
    pub comings: f64,
}

/// What goes where, region by region.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    places: Vec<Place>,
    /// Pages of a place, by region.
    pages: Vec<f64>,
}

/// Accesses that are elsewhere in one profile than in another, and all of them: lines, and pages touched.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moved {
    /// Lines.
    pub lines: f64,
    /// Pages.
    pub pages: f64,
}

impl Moved {
    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self { lines: self.lines + other.lines, pages: self.pages + other.pages }
    }
    /// So many times as much.
    pub fn times(self, n: f64) -> Self {
        Self { lines: self.lines * n, pages: self.pages * n }
    }
    /// As a share of all, lines and pages alike.
    pub fn share(self, all: Self) -> f64 {
        let of = |n: f64, all: f64| if all > 0.0 { n / all } else { 0.0 };
        (of(self.lines, all.lines) + of(self.pages, all.pages)) / 2.0
    }
}

/// A stretch of a region, as shares of it, with the lines that go there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// Lines.
    pub lines: f64,
}

/// The stretches that a visit goes to.
pub fn pieces(v: &Visit) -> Vec<Piece> {
    if !v.tiers.is_empty() {
        let of = |t: &Tier| Piece { from: t.from, to: t.to, lines: v.lines * t.accesses };
        return v.tiers.iter().map(of).collect();
    }
    let (from, to) = match v.part {
        Part::Range(from, to) => (from, to),
        Part::Whole | Part::Slice => (0.0, 1.0),
    };
    vec![Piece { from, to, lines: v.lines }]
}

/// Lines for which a page is come to once.
fn lines_of_coming(order: Order) -> f64 {
    match order {
        Order::Sweep => LINES_OF_PAGE,
        Order::Strided(bytes) => (PAGE_BYTES as f64 / bytes as f64).max(1.0),
        Order::Blocks(bytes) => ((bytes / LINE_BYTES) as f64).clamp(1.0, LINES_OF_PAGE),
        Order::Random => 1.0,
    }
}

impl Profile {
    /// Nothing yet, for these regions.
    pub fn empty(regions: &[Region]) -> Self {
        let pages = |r: &Region| (r.bytes as f64 / PAGE_BYTES as f64 / PLACES as f64).max(1.0 / PLACES as f64);
        Self { places: vec![Place::default(); regions.len() * PLACES], pages: regions.iter().map(pages).collect() }
    }

    /// Where visits go, each counted `times`.
    pub fn of(visits: &[Visit], regions: &[Region], times: f64) -> Self {
        let mut out = Self::empty(regions);
        for v in visits {
            for p in pieces(v) {
                out.spread(v, p, times);
            }
        }
        out
    }

    fn spread(&mut self, v: &Visit, p: Piece, times: f64) {
        let (low, high) = (p.from * PLACES as f64, (p.to * PLACES as f64).max(p.from * PLACES as f64 + 1e-9));
        let own = &mut self.places[v.region * PLACES..(v.region + 1) * PLACES];
        for (n, place) in own.iter_mut().enumerate() {
            let common = (high.min(n as f64 + 1.0) - low.max(n as f64)).max(0.0);
            let lines = times * p.lines * common / (high - low);
            place.reads += lines * (1.0 - v.write_share);
            place.writes += lines * v.write_share;
            place.comings += lines / lines_of_coming(v.order);
        }
    }

    /// Adds another.
    pub fn add(&mut self, other: &Self) {
        for (own, o) in self.places.iter_mut().zip(&other.places) {
            own.reads += o.reads;
            own.writes += o.writes;
            own.comings += o.comings;
        }
    }

    /// Pages that are touched of a place, as if each coming went to any of them.
    fn touched(&self, n: usize) -> f64 {
        let pages = self.pages[n / PLACES];
        pages * (1.0 - (-self.places[n].comings / pages).exp())
    }

    /// All lines, and all pages that are touched.
    pub fn all(&self) -> Moved {
        let lines = self.places.iter().map(|p| p.reads + p.writes).sum();
        Moved { lines, pages: (0..self.places.len()).map(|n| self.touched(n)).sum() }
    }

    /// What is elsewhere than in another profile of the same regions.
    pub fn apart(&self, other: &Self) -> Moved {
        let mut out = Moved::default();
        for (n, (a, b)) in self.places.iter().zip(&other.places).enumerate() {
            out.lines += ((a.reads - b.reads).abs() + (a.writes - b.writes).abs()) / 2.0;
            out.pages += (self.touched(n) - other.touched(n)).abs() / 2.0;
        }
        out
    }
}

/// What is of another one than before if all of `profiles` do a share of their sum each.
pub fn evened(profiles: &[(Profile, f64)]) -> Moved {
    let Some((first, _)) = profiles.first() else { return Moved::default() };
    let shares: f64 = profiles.iter().map(|(_, share)| share).sum::<f64>().max(1e-12);
    let mut out = Moved::default();
    for n in 0..first.places.len() {
        let sum = |of: &dyn Fn(&Profile) -> f64| profiles.iter().map(|(p, _)| of(p)).sum::<f64>();
        let moved = |of: &dyn Fn(&Profile) -> f64| {
            let all = sum(of);
            profiles.iter().map(|(p, share)| (of(p) - all * share / shares).abs()).sum::<f64>() / 2.0
        };
        out.lines += moved(&|p| p.places[n].reads) + moved(&|p| p.places[n].writes);
        out.pages += moved(&|p| p.touched(n));
    }
    out
}
