//! Phases of a thread as one, and threads of several kinds as one.

use super::profile::{evened, Moved, Profile};
use super::visits::{self, Site};
use crate::fit::classes::Class;
use crate::fit::pattern::{Phase, Visit};
use crate::fit::region::Region;
use crate::fit::steps::{INSNS_OF_A_LINE, WHOLE_PASS};

/// Share of its lines that a phase may lose in steps of whole passes.
const ROUNDED: f64 = 0.02;

/// The regions of a process.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// The regions.
    pub regions: &'a [Region],
    /// Whether processes have them of each other by a fork.
    pub forked: &'a [bool],
}

impl<'a> Scope<'a> {
    /// Where a thread of `threads` visits a region.
    pub fn site(self, region: usize, threads: usize) -> Site<'a> {
        Site { region: &self.regions[region], is_forked: self.forked[region], threads }
    }

    /// Visits of a thread with those of one region put together, if they are alike.
    pub fn joined(self, all: Vec<Visit>, threads: usize) -> Vec<Visit> {
        let mut out: Vec<Visit> = Vec::new();
        for v in all {
            let at = self.site(v.region, threads);
            let known = (0..out.len()).find_map(|n| Some((n, visits::join(&out[n], &v, at)?)));
            match known {
                Some((n, both)) => out[n] = both,
                None => out.push(v),
            }
        }
        out
    }

    /// Two phases of a thread as one, the first before the other; `None` if that says something else.
    pub fn phase(self, a: &Phase, b: &Phase, threads: usize) -> Option<Phase> {
        if a.once || b.once {
            return None;
        }
        // Instructions of others while it waited, from their share of both.
        let waited = |p: &Phase| p.insns * p.waited / (1.0 - p.waited).max(1e-6);
        let (insns, others) = (a.insns + b.insns, waited(a) + waited(b));
        let out = Phase {
            insns,
            kernel: a.kernel + b.kernel,
            awaited: a.awaited + b.awaited,
            slept_ns: a.slept_ns + b.slept_ns,
            waited: others / (insns + others).max(1.0),
            waits: a.waits + b.waits,
            visits: self.joined([a.visits.as_slice(), &b.visits].concat(), threads),
            once: false,
        };
        let lost = lost(&out) - lost(a) - lost(b);
        (lost <= ROUNDED * out.lines()).then_some(out)
    }

    /// All phases of a thread as one.
    fn whole(self, all: &[Phase], threads: usize) -> Option<Phase> {
        let (first, rest) = all.split_first()?;
        rest.iter().try_fold(first.clone(), |sum, p| self.phase(&sum, p, threads))
    }

    /// What is elsewhere or at another time if phases are one.
    pub fn apart_in_time(self, all: &[Phase], one: &Phase) -> Moved {
        let of: Vec<(Profile, f64)> =
            all.iter().map(|p| (Profile::of(&p.visits, self.regions, 1.0), p.ns(1.0))).collect();
        let mut sum = Profile::empty(self.regions);
        of.iter().for_each(|(p, _)| sum.add(p));
        evened(&of).plus(sum.apart(&Profile::of(&one.visits, self.regions, 1.0)))
    }

    /// Two kinds of threads as one, and what is then elsewhere, at another time or of another thread. Their phases are
    /// put together one by one if there are equally many, else each kind's are one before.
    pub fn class(self, a: &Class, b: &Class) -> Option<(Class, Moved)> {
        if a.kept != b.kept || a.members.is_empty() != b.members.is_empty() {
            return None;
        }
        if a.members.iter().any(|m| b.members.contains(m)) {
            return None;
        }
        let by_phase =
            (a.phases.len() == b.phases.len()).then(|| self.class_of(a, b, (&a.phases, &b.phases))).flatten();
        if a.phases.len() == 1 && b.phases.len() == 1 {
            return by_phase;
        }
        let whole = |c: &Class| {
            let one = self.whole(&c.phases, c.threads.len())?;
            let apart = self.apart_in_time(&c.phases, &one).times(c.threads.len() as f64);
            Some((vec![one], apart))
        };
        let at_once = || {
            let ((x, x_apart), (y, y_apart)) = (whole(a)?, whole(b)?);
            let (class, apart) = self.class_of(a, b, (&x, &y))?;
            Some((class, apart.plus(x_apart).plus(y_apart)))
        };
        by_phase.or_else(at_once)
    }

    fn class_of(self, a: &Class, b: &Class, (x, y): (&[Phase], &[Phase])) -> Option<(Class, Moved)> {
        let (n, m) = (a.threads.len() as f64, b.threads.len() as f64);
        let (share, threads) = (n / (n + m), a.threads.len() + b.threads.len());
        let mut apart = Moved::default();
        let mut phases = Vec::new();
        for (p, q) in x.iter().zip(y) {
            let one = self.phase(&scaled(p, share), &scaled(q, 1.0 - share), threads)?;
            let of = |p: &Phase, n: f64| (Profile::of(&p.visits, self.regions, 1.0), n);
            let (own, other) = (of(p, n), of(q, m));
            let mut sum = Profile::of(&p.visits, self.regions, share);
            sum.add(&Profile::of(&q.visits, self.regions, 1.0 - share));
            let shape = sum.apart(&Profile::of(&one.visits, self.regions, 1.0)).times(n + m);
            // A thread of the one kind does what it and one of the other do on average.
            let mean = |p: &Profile, n: f64| p.apart(&sum).times(n);
            apart = apart.plus(mean(&own.0, n)).plus(mean(&other.0, m)).plus(shape);
            phases.push(one);
        }
        let mut order: Vec<(Option<usize>, u16)> = [a, b].iter().flat_map(|c| numbered(c)).collect();
        order.sort_by_key(|(member, _)| *member);
        let class = Class {
            threads: order.iter().map(|(_, thread)| *thread).collect(),
            members: order.iter().filter_map(|(member, _)| *member).collect(),
            phases,
            kept: a.kept,
        };
        Some((class, apart))
    }
}

/// Threads of a kind with the members that they use.
fn numbered(c: &Class) -> impl Iterator<Item = (Option<usize>, u16)> + '_ {
    c.threads.iter().enumerate().map(|(n, thread)| (c.members.get(n).copied(), *thread))
}

/// A phase with a share of all that it does.
fn scaled(p: &Phase, share: f64) -> Phase {
    Phase {
        insns: p.insns * share,
        kernel: p.kernel * share,
        awaited: p.awaited * share,
        slept_ns: p.slept_ns * share,
        waited: p.waited,
        waits: p.waits * share,
        visits: p.visits.iter().map(|v| visits::times(v, share)).collect(),
        once: p.once,
    }
}

/// Lines of a phase by which its steps are off, since they make whole passes, or only compute.
fn lost(p: &Phase) -> f64 {
    if p.all_insns() > INSNS_OF_A_LINE * p.lines() {
        return p.lines();
    }
    let loops = p.loops() as f64;
    let of = |v: &Visit| {
        let passes = v.passes / loops;
        if passes < WHOLE_PASS || passes == 0.0 {
            return 0.0;
        }
        v.lines * (passes.round().max(1.0) / passes - 1.0).abs()
    };
    p.visits.iter().filter(|v| v.is_pass()).map(of).sum()
}
