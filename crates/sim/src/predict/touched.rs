//! Which 2 MiB chunks of its memory a workload touches, from its programs alone.
//!
//! A pass touches all chunks of its span, or as many as it has lines. Random accesses touch so many different chunks as
//! draws with repetition find. A loop that is bounded by time is taken to touch all that it may touch.

use crate::access::walks::draws;
use crate::grains::{homes, Home};
use numalab_base::math::exp;
use numalab_nouns::workload::{Bound, IoDirection, Op, Process, Region, Span, Workload};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Chunks of one region, by number.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Chunks {
    /// Ranges of which every chunk is touched.
    whole: Vec<(u64, u64)>,
    /// Ranges in which chunks are drawn, with the number of draws.
    drawn: BTreeMap<(u64, u64), f64>,
}

impl Chunks {
    fn add(&mut self, range: (u64, u64), draws: f64) {
        let chunks = (range.1 - range.0) as f64;
        // So many draws find all but a thousandth of the chunks.
        if draws >= 7.0 * chunks {
            // Threads with neighbouring slices make one range.
            match self.whole.last_mut() {
                Some(last) if range.0 >= last.0 && range.0 <= last.1 => last.1 = last.1.max(range.1),
                _ => self.whole.push(range),
            }
        } else {
            *self.drawn.entry(range).or_default() += draws;
        }
    }
    /// Everything that either touches.
    pub(crate) fn join(&mut self, other: &Self) {
        self.whole.extend(&other.whole);
        for (range, draws) in &other.drawn {
            *self.drawn.entry(*range).or_default() += draws;
        }
    }
    /// Expected number of different chunks.
    pub(crate) fn count(&self) -> f64 {
        let mut whole = self.whole.clone();
        whole.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::new();
        for r in whole {
            match merged.last_mut() {
                Some(last) if r.0 <= last.1 => last.1 = last.1.max(r.1),
                _ => merged.push(r),
            }
        }
        let sure: u64 = merged.iter().map(|r| r.1 - r.0).sum();
        let mut most = sure;
        let mut by_chance = 0.0;
        for (&(from, to), draws) in &self.drawn {
            let inside: u64 = merged.iter().map(|r| r.1.min(to).saturating_sub(r.0.max(from))).sum();
            let (all, open) = ((to - from) as f64, (to - from - inside) as f64);
            by_chance += open * (1.0 - exp(-draws / all));
            most += to - from - inside;
        }
        sure as f64 + by_chance.min((most - sure) as f64)
    }
}

/// What is touched of a region.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    /// By accesses of any kind.
    pub(crate) used: Chunks,
    /// By accesses that write.
    pub(crate) written: Chunks,
    /// Number of chunks of which a step may free a part, which splits a huge page.
    pub(crate) cut: u64,
}

/// What each process touches.
pub(crate) struct ByProcess {
    /// Regions that the process sees, those it inherits first.
    pub(crate) homes: Vec<Home>,
    /// What its prologue touches of each.
    pub(crate) prologue: Vec<Touched>,
    /// What prologue and threads touch of each.
    pub(crate) all: Vec<Touched>,
}

/// What the processes of a workload touch, in their order.
/// `chunk_bytes` is the size of a chunk of single pages, and a region has grains of the order in `orders`.
pub(crate) fn touched(workload: &Workload, chunk_bytes: u64, orders: &[Vec<u32>]) -> Vec<ByProcess> {
    let mut out: Vec<ByProcess> = Vec::with_capacity(workload.processes.len());
    for (p, homes) in workload.processes.iter().zip(homes(workload)) {
        let mut own = ByProcess { prologue: vec![Touched::default(); homes.len()], all: Vec::new(), homes };
        let seen = Seen { workload, homes: &own.homes, chunk_bytes, orders };
        seen.program(&p.prologue, &mut own.prologue);
        own.all = own.prologue.clone();
        seen.threads(p, &mut own.all);
        out.push(own);
    }
    out
}

/// What a process sees of a workload.
struct Seen<'a> {
    workload: &'a Workload,
    homes: &'a [Home],
    chunk_bytes: u64,
    orders: &'a [Vec<u32>],
}

impl Seen<'_> {
    fn threads(&self, p: &Process, out: &mut [Touched]) {
        let mut before: Option<&Arc<[Op]>> = None;
        for t in &p.threads {
            if before.is_some_and(|b| Arc::ptr_eq(b, &t.ops)) {
                continue;
            }
            before = Some(&t.ops);
            self.program(&t.ops, out);
        }
    }

    /// Adds what a program touches.
    fn program(&self, ops: &[Op], out: &mut [Touched]) {
        let region = |span: &Span| {
            let &(process, region) = self.homes.get(span.region as usize)?;
            self.workload.processes.get(process)?.regions.get(region)
        };
        let mut times = vec![1.0f64];
        for op in ops {
            let now = times.last().copied().unwrap_or(1.0);
            match op {
                Op::LoopStart(Bound::Count(n)) => times.push(now * *n as f64),
                Op::LoopStart(Bound::Time { .. }) => times.push(f64::INFINITY),
                Op::LoopEnd if times.len() > 1 => {
                    times.pop();
                }
                Op::Access(a) => {
                    let Some(of) = region(&a.span) else { continue };
                    let Some(t) = out.get_mut(a.span.region as usize) else { continue };
                    let range = self.chunks(of, &a.span);
                    let (draws, writes) = draws(a, range.1 - range.0, now);
                    t.used.add(range, draws);
                    if a.write > 0.0 {
                        t.written.add(range, writes);
                    }
                }
                Op::DirectIo(io) => {
                    let Some(of) = region(&io.span) else { continue };
                    let Some(t) = out.get_mut(io.span.region as usize) else { continue };
                    let range = self.chunks(of, &io.span);
                    let draws = io.ios as f64 * now * (io.bytes as f64 / self.chunk_bytes as f64).ceil();
                    t.used.add(range, draws);
                    if io.direction == IoDirection::Read {
                        t.written.add(range, draws);
                    }
                }
                Op::ReadFile(r) => {
                    for (span, written) in [(&r.span, false), (&r.into, true)] {
                        let Some(of) = region(span) else { continue };
                        let Some(t) = out.get_mut(span.region as usize) else { continue };
                        t.used.add(self.chunks(of, span), f64::INFINITY);
                        if written {
                            t.written.add(self.chunks(of, span), f64::INFINITY);
                        }
                    }
                }
                Op::Discard(span) => {
                    let Some(of) = region(span) else { continue };
                    let start = of.misalign_bytes + span.offset_bytes;
                    let cuts =
                        !start.is_multiple_of(self.chunk_bytes) || !span.len_bytes.is_multiple_of(self.chunk_bytes);
                    if let Some(t) = out.get_mut(span.region as usize).filter(|_| cuts) {
                        t.cut += self.chunks(of, span).1 - self.chunks(of, span).0;
                    }
                }
                _ => {}
            }
        }
    }

    /// Chunks of a span of a region: the first, and that behind the last.
    fn chunks(&self, of: &Region, span: &Span) -> (u64, u64) {
        let start = of.misalign_bytes + span.offset_bytes;
        let order = self.homes.get(span.region as usize).map_or(0, |&(process, region)| self.orders[process][region]);
        let chunk_bytes = self.chunk_bytes << order;
        (start / chunk_bytes, (start + span.len_bytes.max(1)).div_ceil(chunk_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(whole: &[(u64, u64)], drawn: &[((u64, u64), f64)]) -> Chunks {
        let mut out = Chunks::default();
        whole.iter().for_each(|r| out.add(*r, f64::INFINITY));
        drawn.iter().for_each(|(r, n)| out.add(*r, *n));
        out
    }

    #[test]
    fn chunks_count_once() {
        assert_eq!(of(&[(0, 4), (2, 6), (8, 9)], &[]).count(), 7.0);
        assert_eq!(of(&[(8, 9), (0, 4), (2, 6)], &[]).count(), 7.0);
        // 100 draws of 100 chunks find 63 of them, and those that are touched anyway count once.
        assert!((of(&[], &[((0, 100), 100.0)]).count() - 63.2).abs() < 0.1);
        assert!((of(&[(0, 50)], &[((0, 100), 100.0)]).count() - 81.6).abs() < 0.1);
        assert_eq!(of(&[], &[((0, 10), 1000.0)]).count(), 10.0);
    }
}
