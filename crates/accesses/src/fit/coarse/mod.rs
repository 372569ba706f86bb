//! A fit that keeps to a page.
//!
//! Problem: a workload is there to be read, and a program with many mappings, threads that differ in detail, or a
//! course of many phases gives hundreds of lines. Approach: what is most alike becomes one, step by step, until the
//! text is short enough. Four things can be put together: regions of a process, kinds of threads, phases that follow
//! each other, and neighbouring parts of a region that a visit tells apart by their heat. Each is judged by one
//! measure: the accesses that are afterwards elsewhere, at another time or of another thread. They count as a share of
//! all lines and of all pages that are touched. The step that moves least for each line of text comes first.
//! Invariants: lines, writes, instructions, sleep, memory and threads stay in sum, and the pages touched nearly so.
//! Turns, barriers, shared and inherited memory stay as they are. A fit that is short enough stays the same.

mod phases;
mod profile;
mod regions;
#[cfg(test)]
mod tests;
mod visits;

use super::classes::Class;
use super::fitted::Fit;
use super::image::FittedProcess;
use super::pattern::{Phase, Visit};
use super::scale::INSTRUCTION_NS;
use phases::Scope;
use profile::{Moved, Profile};
use std::collections::BTreeMap;

/// Most lines of a workload. The longest of twelve fits that were short by themselves has 138, so programs of a few
/// regions and kinds of threads are below it, and it is two sheets of paper with 80 lines each.
pub const MOST_LINES: usize = 160;

/// Share of its pages by which what a process touches may change.
const PAGES: f64 = 0.02;
/// Lines of text of a region, a phase and a kind of threads, without their steps.
const TEXT_OF: (i64, i64, i64) = (4, 7, 5);

/// What is put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// Two regions.
    Regions(usize, usize),
    /// Two kinds of threads.
    Kinds(usize, usize),
    /// A phase of a kind and the next; of the initial thread without a kind.
    Phases(Option<usize>, usize),
    /// A part and the next, of a visit of a phase.
    Parts(Option<usize>, usize, usize, usize),
}

impl Step {
    /// What is put together, in words, and where its accesses then go.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Regions(..) => ("regions", "go to the other"),
            Self::Kinds(..) => ("kinds of threads", "are of the other, or at another time"),
            Self::Phases(..) => ("phases", "are at the time of the other"),
            Self::Parts(..) => ("parts of regions", "go to the other"),
        }
    }
}

/// A step with what it costs.
struct Choice {
    step: Step,
    /// Accesses that it moves, as a share of all of the fit.
    loss: f64,
    /// As a share of those of the two things.
    own: f64,
    /// Lines of text that it saves.
    saved: i64,
}

impl Fit {
    /// The fit in at most `lines` lines of text, as far as there is something to put together. Says in `assumed` what
    /// was put together, and how far apart that was.
    #[must_use]
    pub fn within(self, lines: usize) -> Self {
        if self.text_lines() <= lines {
            return self;
        }
        let mut search = Search::new(&self);
        let mut out = self;
        let own = std::mem::take(&mut out.assumed);
        let told = |search: &Search| [own.as_slice(), &search.sentences(lines)].concat();
        while let Some((process, step)) = search.step() {
            carry_out(&mut out, process, step);
            out.assumed = told(&search);
            if out.text_lines() <= lines {
                return out;
            }
        }
        out.assumed = told(&search);
        out.assumed.push(format!("it has more than {lines} lines, since nothing is left that could be put together"));
        out
    }

    fn text_lines(&self) -> usize {
        self.to_toml("").lines().count()
    }

    /// Whether processes have the regions of a process of each other by a fork.
    fn are_forked(&self, process: usize) -> Vec<bool> {
        let regions = &self.processes[process].regions;
        (0..regions.len()).map(|r| regions[r].inherited.is_some() || self.is_inherited(process, r)).collect()
    }
}

/// Steps that were made in a process, by kind.
#[derive(Clone, Copy, Debug, Default)]
struct Made {
    /// How many.
    steps: usize,
    /// The largest share of the accesses of two things that one moved.
    own: f64,
}

/// The search for what is put together next.
struct Search {
    /// The fit so far, without histograms: they decide nothing, and cost time.
    fit: Fit,
    /// All lines of the fit, and pages that it touches.
    all: Moved,
    /// Time of its longest thread.
    longest: Time,
    /// Pages that each process touched at first.
    pages: Vec<f64>,
    /// What may be put together, by process.
    choices: Vec<Vec<Choice>>,
    made: BTreeMap<(usize, &'static str, &'static str), Made>,
    /// Share of all accesses that were moved.
    loss: f64,
}

impl Search {
    fn new(fit: &Fit) -> Self {
        let mut fit = fit.clone();
        for p in &mut fit.processes {
            let classes = p.classes.iter_mut().flat_map(|c| &mut c.phases);
            p.prologue.iter_mut().chain(classes).flat_map(|p| &mut p.visits).for_each(|v| v.heat.clear());
        }
        let all = fit.processes.iter().map(|p| all_of(p).times(p.count as f64));
        let all = all.fold(Moved::default(), Moved::plus);
        let longest = fit.processes.iter().map(longest).fold(Time::default(), Time::max);
        let pages = fit.processes.iter().map(touched).collect();
        let mut out = Self { fit, all, longest, pages, choices: Vec::new(), made: BTreeMap::new(), loss: 0.0 };
        out.choices = (0..out.fit.processes.len()).map(|n| out.choices_of(n)).collect();
        out
    }

    /// Puts together what costs least for a line of text.
    fn step(&mut self) -> Option<(usize, Step)> {
        loop {
            let price = |c: &Choice| c.loss / c.saved as f64;
            let all = self.choices.iter().enumerate();
            let all = all.flat_map(|(n, of)| of.iter().enumerate().map(move |(at, c)| (n, at, price(c))));
            let (n, at, _) = all.min_by(|a, b| a.2.total_cmp(&b.2))?;
            let choice = self.choices[n].swap_remove(at);
            let before = self.fit.processes[n].clone();
            carry_out(&mut self.fit, n, choice.step);
            let (now, first) = (touched(&self.fit.processes[n]), self.pages[n]);
            let is_same = self.fit.processes[n] == before;
            if is_same || (now - first).abs() > PAGES * first {
                self.fit.processes[n] = before;
                continue;
            }
            let (what, how) = choice.step.words();
            let made = self.made.entry((n, what, how)).or_default();
            made.steps += 1;
            made.own = made.own.max(choice.own);
            self.loss += choice.loss;
            self.choices[n] = self.choices_of(n);
            return Some((n, choice.step));
        }
    }

    /// What was put together, as sentences.
    fn sentences(&self, lines: usize) -> Vec<String> {
        // A rounding error is no percent.
        let percent = |share: f64| (share * 100.0 - 1e-6).ceil().max(0.0);
        let mut out = vec![format!(
            "to be no longer than {lines} lines, it has as one what is most alike: by that up to {} % of all accesses \
             are elsewhere, at another time or of another thread",
            percent(self.loss.min(1.0))
        )];
        for ((process, what, how), made) in &self.made {
            let name = &self.fit.processes[*process].name;
            let times = if made.steps == 1 { "once".into() } else { format!("{} times", made.steps) };
            out.push(format!(
                "{name}: {what} are put together, two at a time, {times}: at most {} % of their accesses {how}",
                percent(made.own)
            ));
        }
        out
    }

    fn choices_of(&self, n: usize) -> Vec<Choice> {
        let (p, forked) = (&self.fit.processes[n], self.fit.are_forked(n));
        let scope = Scope { regions: &p.regions, forked: &forked };
        let mut out = self.regions(p, &forked);
        out.extend(self.kinds(p, scope));
        let classes = (0..p.classes.len()).filter(|c| is_free(p, *c)).map(Some);
        for class in classes.chain([None]) {
            out.extend(self.phases(p, class, scope));
            out.extend(self.parts(p, class, scope));
        }
        out.retain(|c| c.saved > 0);
        out
    }

    fn choice(&self, step: Step, count: usize, (moved, all): (Moved, Moved), saved: i64) -> Choice {
        let own = if all.lines > 0.0 { (moved.lines / all.lines).min(1.0) } else { 0.0 };
        Choice { step, loss: moved.times(count as f64).share(self.all), own, saved }
    }

    fn regions(&self, p: &FittedProcess, forked: &[bool]) -> Vec<Choice> {
        let pairs = (0..p.regions.len()).flat_map(|a| (a + 1..p.regions.len()).map(move |b| (a, b)));
        let pairs = pairs.filter(|of| p.turns.is_empty() && regions::may_join(p, forked, *of));
        let choice = |(a, b)| {
            let (moved, all, saved) = regions::apart(p, (a, b));
            self.choice(Step::Regions(a, b), p.count, (moved, all), saved + TEXT_OF.0)
        };
        pairs.map(choice).collect()
    }

    fn kinds(&self, p: &FittedProcess, scope: Scope<'_>) -> Vec<Choice> {
        let pairs = (0..p.classes.len()).flat_map(|a| (a + 1..p.classes.len()).map(move |b| (a, b)));
        let is_free = |c: usize| is_free(p, c) && p.meetings[c] == 0;
        // What the first kind does before it waits for others stays before that.
        let waits = p.waits_after.is_some_and(|w| w < p.classes.first().map_or(0, |c| c.phases.len()));
        let pairs = pairs.filter(|(a, b)| is_free(*a) && is_free(*b) && !(waits && *a == 0));
        let choice = |(a, b): (usize, usize)| {
            let (x, y) = (&p.classes[a], &p.classes[b]);
            let (one, moved) = scope.class(x, y)?;
            let all = of_class(x, scope).plus(of_class(y, scope));
            let text = |c: &Class| c.phases.iter().map(text_of).sum::<i64>();
            let saved = text(x) + text(y) - text(&one) + TEXT_OF.2;
            let mut choice = self.choice(Step::Kinds(a, b), p.count, (moved, all), saved);
            // Who takes longest says how long the program takes.
            let others = p.classes.iter().enumerate().filter(|(n, _)| *n != a && *n != b).map(|(_, c)| time(&c.phases));
            let after = others.chain([time(&one.phases)]).fold(Time::default(), Time::max);
            choice.loss += longest(p).apart(after, self.longest);
            Some(choice)
        };
        pairs.filter_map(choice).collect()
    }

    fn phases(&self, p: &FittedProcess, class: Option<usize>, scope: Scope<'_>) -> Vec<Choice> {
        let (all, threads) = phases_of(p, class);
        let choice = |n: usize| {
            let pair = &all[n..=n + 1];
            let one = scope.phase(&pair[0], &pair[1], threads)?;
            if !may_join(p, class, n, &one) {
                return None;
            }
            let moved = scope.apart_in_time(pair, &one);
            let of = |p: &Phase| Profile::of(&p.visits, scope.regions, 1.0).all();
            let all = of(&pair[0]).plus(of(&pair[1]));
            let saved = text_of(&pair[0]) + text_of(&pair[1]) - text_of(&one);
            let count = p.count * threads;
            Some(self.choice(Step::Phases(class, n), count, (moved, all), saved))
        };
        (1..all.len()).filter_map(|n| choice(n - 1)).collect()
    }

    fn parts(&self, p: &FittedProcess, class: Option<usize>, scope: Scope<'_>) -> Vec<Choice> {
        let (all, threads) = phases_of(p, class);
        let mut out = Vec::new();
        for (n, phase) in all.iter().enumerate() {
            for (v, visit) in phase.visits.iter().enumerate() {
                let before = Profile::of(std::slice::from_ref(visit), scope.regions, 1.0);
                for at in 1..visit.tiers.len() {
                    let one = visits::with_part(visit, at - 1);
                    let moved = before.apart(&Profile::of(&[one], scope.regions, 1.0));
                    let step = Step::Parts(class, n, v, at - 1);
                    out.push(self.choice(step, p.count * threads, (moved, before.all()), 1));
                }
            }
        }
        out
    }
}

/// Phases of a kind of threads or of the initial thread, with the number of threads.
fn phases_of(p: &FittedProcess, class: Option<usize>) -> (&[Phase], usize) {
    class.map_or((&p.prologue, 1), |c| (&p.classes[c].phases, p.classes[c].threads.len()))
}

/// Whether a kind takes no turns with another.
fn is_free(p: &FittedProcess, class: usize) -> bool {
    p.turns.iter().all(|t| t.first != class && t.second != class)
}

/// Whether a phase and the next may be one: no wait lies between them, and threads meet as often.
fn may_join(p: &FittedProcess, class: Option<usize>, n: usize, one: &Phase) -> bool {
    let Some(class) = class else { return true };
    if class == 0 && p.waits_after == Some(n + 1) {
        return false;
    }
    let phases = &p.classes[class].phases;
    let loops: u64 = phases.iter().map(Phase::loops).sum();
    let both = phases[n].loops() + phases[n + 1].loops();
    p.meetings[class] == 0 || p.meetings[class] * 2 >= loops && one.loops() == both
}

/// Lines of text of a phase.
fn text_of(phase: &Phase) -> i64 {
    let steps: usize = phase.visits.iter().map(|v| v.tiers.len().max(1)).sum();
    TEXT_OF.1 + steps as i64 + i64::from(phase.awaited > 0.0) + i64::from(phase.slept_ns >= 1000.0)
}

/// How long something takes. What an instruction takes is a parameter, so there is one for fast and one for slow ones.
#[derive(Clone, Copy, Debug, Default)]
struct Time {
    /// At the time of an instruction that fits assume, ns.
    ns: f64,
    /// If lines take no time against instructions, instructions.
    insns: f64,
}

impl Time {
    fn max(self, other: Self) -> Self {
        Self { ns: self.ns.max(other.ns), insns: self.insns.max(other.insns) }
    }
    /// The larger difference, against `all`.
    fn apart(self, other: Self, all: Self) -> f64 {
        let of = |a: f64, b: f64, all: f64| (a - b).abs() / all.max(1.0);
        of(self.ns, other.ns, all.ns).max(of(self.insns, other.insns, all.insns))
    }
}

fn time(phases: &[Phase]) -> Time {
    let insns = |p: &Phase| p.all_insns() + p.awaited + p.slept_ns / INSTRUCTION_NS;
    Time { ns: phases.iter().map(|p| p.ns(1.0)).sum(), insns: phases.iter().map(insns).sum() }
}

fn longest(p: &FittedProcess) -> Time {
    p.classes.iter().map(|c| time(&c.phases)).fold(Time::default(), Time::max)
}

fn of_class(c: &Class, scope: Scope<'_>) -> Moved {
    let of = |p: &Phase| Profile::of(&p.visits, scope.regions, 1.0).all().times(c.threads.len() as f64);
    c.phases.iter().map(of).fold(Moved::default(), Moved::plus)
}

/// Lines of a process, and pages that its phases touch.
fn all_of(p: &FittedProcess) -> Moved {
    let forked = vec![false; p.regions.len()];
    let scope = Scope { regions: &p.regions, forked: &forked };
    let prologue = p.prologue.iter().map(|p| Profile::of(&p.visits, scope.regions, 1.0).all());
    p.classes.iter().map(|c| of_class(c, scope)).chain(prologue).fold(Moved::default(), Moved::plus)
}

/// Pages that a process touches, each counted once.
fn touched(p: &FittedProcess) -> f64 {
    let mut all = Profile::empty(&p.regions);
    let classes = p.classes.iter().flat_map(|c| c.phases.iter().map(|p| (p, c.threads.len())));
    for (phase, n) in classes.chain(p.prologue.iter().map(|p| (p, 1))) {
        all.add(&Profile::of(&phase.visits, &p.regions, n as f64));
    }
    all.all().pages
}

/// Carries out a step in a process.
fn carry_out(fit: &mut Fit, process: usize, step: Step) {
    let forked = fit.are_forked(process);
    let p = &mut fit.processes[process];
    let regions = p.regions.clone();
    let scope = Scope { regions: &regions, forked: &forked };
    match step {
        Step::Regions(a, b) => regions::join(p, (a, b)),
        Step::Kinds(a, b) => {
            let Some((one, _)) = scope.class(&p.classes[a], &p.classes[b]) else { return };
            p.classes[a] = one;
            p.classes.remove(b);
            p.meetings.remove(b);
            for t in &mut p.turns {
                t.first -= usize::from(t.first > b);
                t.second -= usize::from(t.second > b);
            }
        }
        Step::Phases(class, n) => {
            let (of, threads) = of_mut(p, class);
            let Some(one) = scope.phase(&of[n], &of[n + 1], threads) else { return };
            of[n] = one;
            of.remove(n + 1);
            if let (Some(0), Some(w)) = (class, p.waits_after) {
                p.waits_after = Some(if w > n + 1 && w < usize::MAX { w - 1 } else { w });
            }
        }
        Step::Parts(class, phase, visit, at) => {
            let v: &mut Visit = &mut of_mut(p, class).0[phase].visits[visit];
            *v = visits::with_part(v, at);
        }
    }
}

fn of_mut(p: &mut FittedProcess, class: Option<usize>) -> (&mut Vec<Phase>, usize) {
    match class {
        None => (&mut p.prologue, 1),
        Some(c) => {
            let threads = p.classes[c].threads.len();
            (&mut p.classes[c].phases, threads)
        }
    }
}
