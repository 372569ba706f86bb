//! A stretch of a thread's time: what it did, and the stretches that it was joined from.

use super::usage::{Order, Use};
use std::collections::BTreeMap;

/// Most stretches that are kept of what one was joined from.
const MOST_KEPT: usize = 64;

/// A stretch of a thread's time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stretch {
    /// Model time at its begin.
    pub begin: u64,
    /// Model time at its end.
    pub end: u64,
    /// Instructions.
    pub insns: u64,
    /// Instructions of the kernel for it.
    pub kernel: u64,
    /// Instructions that others ran while it waited.
    pub waited: u64,
    /// Instructions that others ran until messages came for which it slept.
    pub awaited: u64,
    /// Sleep asked for, ns.
    pub slept_ns: u64,
    /// Sleeps.
    pub sleeps: u64,
    /// Futex waits.
    pub waits: u64,
    /// Uses by region.
    pub uses: BTreeMap<usize, Use>,
    /// What it was joined from, in the order of time: at most [`MOST_KEPT`], themselves without any. Empty if
    /// it was joined from nothing.
    pub windows: Vec<Stretch>,
}

impl Stretch {
    /// Adds what another has, which comes after it in time, and keeps what both were joined from.
    pub fn join(&mut self, other: &Self) {
        let is_first = self.insns == 0 && self.uses.is_empty();
        let mut windows = if is_first { Vec::new() } else { windows_of(self) };
        windows.extend(windows_of(other));
        self.add(other, is_first);
        self.windows = few(windows);
    }

    /// Adds what another has, without its windows.
    pub fn add(&mut self, other: &Self, is_first: bool) {
        self.begin = if is_first { other.begin } else { self.begin.min(other.begin) };
        self.end = self.end.max(other.end);
        self.insns += other.insns;
        self.kernel = self.kernel.saturating_add(other.kernel);
        self.waited += other.waited;
        self.awaited = self.awaited.saturating_add(other.awaited);
        self.slept_ns += other.slept_ns;
        self.sleeps += other.sleeps;
        self.waits += other.waits;
        for (region, u) in &other.uses {
            self.uses.entry(*region).or_default().join(u);
        }
    }

    /// All of them as one.
    pub fn sum(all: &[Self]) -> Self {
        let mut out = Self::default();
        all.iter().for_each(|s| out.join(s));
        out
    }

    /// Lines visited in regions.
    pub fn lines(&self) -> u64 {
        self.uses.values().map(|u| u.lines).sum()
    }

    /// Shares of lines by region, order and direction.
    fn shares(&self) -> BTreeMap<(usize, bool, bool), f64> {
        let all = self.lines().max(1) as f64;
        let mut out = BTreeMap::new();
        for (region, u) in &self.uses {
            let in_order = !matches!(u.order(), Order::Random);
            *out.entry((*region, in_order, true)).or_insert(0.0) += u.writes as f64 / all;
            *out.entry((*region, in_order, false)).or_insert(0.0) += (u.lines - u.writes.min(u.lines)) as f64 / all;
        }
        out
    }

    /// How different two stretches are, 0 to 1: what they visit, and how many lines for an instruction.
    pub fn distance(&self, other: &Self) -> f64 {
        let (a, b) = (self.shares(), other.shares());
        let keys = a.keys().chain(b.keys().filter(|k| !a.contains_key(k)));
        let of = |m: &BTreeMap<(usize, bool, bool), f64>, k| m.get(k).copied().unwrap_or(0.0);
        let apart: f64 = keys.map(|k| (of(&a, k) - of(&b, k)).abs()).sum::<f64>() / 2.0;
        // Lines of a thousand instructions, and half a line so that few are like none.
        let rate = |s: &Self| s.lines() as f64 * 1000.0 / s.insns.max(1) as f64 + 0.5;
        let faster = (rate(self) / rate(other)).ln().abs() / 8f64.ln();
        // Two stretches that visit next to nothing are alike, whatever they visit.
        let weight = (rate(self).max(rate(other)) - 0.5).clamp(0.0, 1.0);
        (apart * weight).max(faster.min(1.0))
    }
}

/// The stretches that one consists of: itself, if it was joined from none.
fn windows_of(s: &Stretch) -> Vec<Stretch> {
    if s.windows.is_empty() {
        vec![s.clone()]
    } else {
        s.windows.clone()
    }
}

/// At most [`MOST_KEPT`] of them: neighbours with the fewest instructions are joined.
fn few(mut all: Vec<Stretch>) -> Vec<Stretch> {
    while all.len() > MOST_KEPT {
        let both = |i: &usize| all[*i].insns + all[*i + 1].insns;
        let Some(at) = (0..all.len() - 1).min_by_key(both) else { break };
        let next = all.remove(at + 1);
        all[at].add(&next, false);
    }
    all
}
