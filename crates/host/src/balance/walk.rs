//! Asks a sampler about one chunk after the other, within a share of the CPU.

use super::hands::Hands;
use super::machine::Shape;
use super::sampler::{Sampler, Target};
use super::state::State;
use super::usage::{chunk_of, chunks, Bits, Usage, CHUNK_BYTES, PAGE_BYTES};
use numalab_kernel::userspace_balance::{Look, Used};
use std::collections::{BTreeMap, BTreeSet};

/// The walk over the chunks of a process.
#[derive(Debug, Default)]
struct Pass {
    /// Start of the process, ticks.
    start: u64,
    /// First addresses of chunks that are to be asked for, the next one last.
    left: Vec<u64>,
    /// Walks that have begun.
    begun: u64,
    /// A whole walk has had answers.
    complete: bool,
    /// Answers of this walk.
    answers: u64,
    /// Why it cannot be sampled.
    refused: bool,
}

/// Walks over all processes, one chunk of each after the other.
pub(super) struct Walk {
    sampler: Box<dyn Sampler>,
    /// What is in use.
    pub usage: Usage,
    passes: BTreeMap<u32, Pass>,
    /// Processes that the last look judged by where their memory is.
    by_residence: BTreeSet<u32>,
}

impl Walk {
    /// A walk that has seen nothing yet, with a sampler that is open.
    pub fn new(sampler: Box<dyn Sampler>) -> Self {
        Self { sampler, usage: Usage::default(), passes: BTreeMap::new(), by_residence: BTreeSet::new() }
    }

    /// Whether only pages in use count, and move, of a process.
    pub fn counts_use(&self, pid: u32) -> bool {
        !self.by_residence.contains(&pid)
    }

    /// Stops sampling, and forgets what was seen.
    pub fn end(&mut self, state: &mut State) {
        self.sampler.end(state);
        self.usage.clear();
        self.passes.clear();
    }

    /// Samples as long as `goes_on` says so. Returns remarks for the log.
    pub fn look(
        &mut self,
        targets: &[Target],
        shape: &Shape,
        hands: &mut dyn Hands,
        state: &mut State,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Vec<String> {
        self.forget(targets);
        let mut notes = self.sampler.prepare(targets, state);
        // Processes take turns, so that a large one does not keep the others from being seen.
        let mut open: BTreeSet<usize> = (0..targets.len()).collect();
        while !open.is_empty() && goes_on() {
            for i in open.clone() {
                if !self.next(&targets[i], shape, hands, &mut notes) {
                    open.remove(&i);
                }
            }
        }
        for target in targets {
            let pass = self.passes.entry(target.pid).or_default();
            if !pass.refused && pass.left.is_empty() {
                pass.complete |= pass.answers > 0;
                *pass = Pass {
                    start: target.start,
                    left: order(&target.ranges, pass.begun),
                    begun: pass.begun + 1,
                    answers: 0,
                    ..*pass
                };
                if let Err(e) = self.sampler.begin(target) {
                    refuse(pass, target, &e, &mut notes);
                }
            }
        }
        notes
    }

    /// Forgets processes that have ended and mappings that are gone.
    fn forget(&mut self, targets: &[Target]) {
        let known: BTreeMap<u32, &Target> = targets.iter().map(|t| (t.pid, t)).collect();
        let passes = &mut self.passes;
        passes.retain(|pid, pass| known.get(pid).is_some_and(|t| pass.start == t.start));
        self.usage.retain(|pid, at| {
            let Some(t) = known.get(&pid).filter(|_| passes.contains_key(&pid)) else { return false };
            let place = t.ranges.partition_point(|r| r.0 <= at);
            place > 0 && at < t.ranges[place - 1].1 && chunk_of(t.ranges[place - 1], at).0 == at
        });
    }

    /// Asks for one chunk of a process. Returns whether there are more in this walk.
    fn next(&mut self, target: &Target, shape: &Shape, hands: &mut dyn Hands, notes: &mut Vec<String>) -> bool {
        let Some(pass) = self.passes.get_mut(&target.pid).filter(|p| !p.refused) else { return false };
        let Some(at) = pass.left.pop() else { return false };
        let place = target.ranges.partition_point(|r| r.0 <= at);
        let Some(range) = target.ranges[..place].last().filter(|r| at < r.1) else { return !pass.left.is_empty() };
        let chunk = chunk_of(*range, at);
        match self.sampler.seen(target, chunk) {
            Ok(None) => {}
            Ok(Some(seen)) => {
                pass.answers += 1;
                let pages = self.usage.with(target.pid, chunk.0, seen.pages);
                if let Some((on, gone)) = nodes(target.pid, chunk, pages, shape, hands) {
                    self.usage.take(target.pid, chunk.0, (seen.pages, gone), on, seen.user);
                }
            }
            Err(e) => refuse(pass, target, &e, notes),
        }
        !pass.left.is_empty() && !pass.refused
    }

    /// Puts what is in use into a look. `end` has the first address after a mapping, by process and first address.
    pub fn tell(&mut self, look: &mut Look, nodes: usize, end: impl Fn(u32, u64) -> Option<u64>) {
        let mut used_of: BTreeMap<u32, u64> = BTreeMap::new();
        for m in &mut look.mappings {
            let pid = m.group as u32;
            // What was not seen yet waits: it weighs nothing and does not move.
            let known = end(pid, m.start).and_then(|end| self.usage.of(pid, (m.start, end), nodes));
            let used = known.unwrap_or_else(|| Used { pages: vec![0; nodes], alone: Vec::new() });
            *used_of.entry(pid).or_default() += used.pages.iter().sum::<u64>();
            m.used = Some(used);
        }
        // A process that cannot be sampled, or of which no page is seen in use, is judged by where its memory is.
        let by_residence =
            |pid: &u32, used: u64| self.passes.get(pid).is_none_or(|pass| pass.refused || pass.complete && used == 0);
        self.by_residence = used_of.iter().filter(|(pid, used)| by_residence(pid, **used)).map(|(p, _)| *p).collect();
        for m in look.mappings.iter_mut().filter(|m| self.by_residence.contains(&(m.group as u32))) {
            m.used = None;
        }
    }
}

fn refuse(pass: &mut Pass, target: &Target, why: &std::io::Error, notes: &mut Vec<String>) {
    pass.refused = true;
    // ESRCH and ENOENT: it has ended.
    if !matches!(why.raw_os_error(), Some(libc::ESRCH | libc::ENOENT)) {
        notes.push(format!("process {} is judged by where its memory is, used or not: {why}", target.pid));
    }
}

/// Pages of `pages` on each node, and those that are not in memory. `None` if the process has ended.
fn nodes(pid: u32, chunk: (u64, u64), pages: Bits, shape: &Shape, hands: &mut dyn Hands) -> Option<(Vec<u16>, Bits)> {
    let count = ((chunk.1 - chunk.0) / PAGE_BYTES) as usize;
    let asked: Vec<usize> = pages.iter().filter(|p| *p < count).collect();
    let addresses: Vec<u64> = asked.iter().map(|p| chunk.0 + *p as u64 * PAGE_BYTES).collect();
    let mut ids = Vec::new();
    if !addresses.is_empty() {
        hands.page_nodes(pid, &addresses, &mut ids).ok()?;
    }
    let (mut on, mut gone) = (vec![0u16; shape.ids.len()], Bits::default());
    for (page, id) in asked.into_iter().zip(ids) {
        match shape.ids.iter().position(|known| i64::from(*known) == i64::from(id)) {
            Some(node) => on[node] += 1,
            None => gone.set(page),
        }
    }
    Some((on, gone))
}

/// First addresses of all chunks, the next one last. Chunks of a mapping come in steps of about three fifths of its
/// size, so that the first few are spread over it; `round` turns the beginning.
fn order(ranges: &[(u64, u64)], round: u64) -> Vec<u64> {
    let mut out = Vec::new();
    for &range in ranges {
        let n = chunks(range);
        let step = (1..=n * 618 / 1000).rev().find(|s| gcd(*s, n) == 1).unwrap_or(1);
        for i in 0..n {
            let number = (u128::from(i + round) * u128::from(step) % u128::from(n)) as u64;
            let at = (range.0 / CHUNK_BYTES + number) * CHUNK_BYTES;
            // Chunks of the same rank stand together, so that all mappings are seen early.
            out.push((i * 1000 / n, at.max(range.0)));
        }
    }
    out.sort_by_key(|(rank, _)| std::cmp::Reverse(*rank));
    out.into_iter().map(|(_, at)| at).collect()
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        gcd(b, a % b)
    }
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
