//! A settled run leaves out the rest of its loops.
//!
//! Once a run is steady ([`crate::record::steady`]), one more stretch of a quarter's length is measured. What is left
//! of the loops then is taken to be that stretch over and over: loops end so much sooner, and all that is counted grows
//! as it did. The last stretch is simulated again, so that the program ends as it does. Time of the model does not jump
//! inside the run; what it tells of itself has the time that was left out added.

use crate::engine::carry_out::Engine;
use crate::record::outcome::{counters, reasons};
use crate::record::steady::{arrived_ns, is_steady, quarter_ns};
use crate::state::settling::{Skipped, Snapshot};
use crate::state::task::{Activity, Stage, Task};

/// Fewest rounds of a counted loop from which its pace can be told.
const FEWEST_ROUNDS: u64 = 4;
/// The next look at a run that has not settled comes when it is longer by this share.
const LOOK_SHARE: u64 = 16;

/// What is left of the loops of a task.
enum Rest {
    /// The outermost loop ends at this instant, ns.
    Until(u64),
    /// So many rounds.
    Rounds(u64),
    /// It sleeps until others have ended, or has itself.
    Nothing,
}

/// The rest of a task's loops; `None` for a task that is in none of its own.
fn rest(t: &Task<'_>) -> Option<Rest> {
    if t.activity == Activity::Dead {
        return Some(Rest::Nothing);
    }
    match (t.stage, t.loops.first()) {
        (Stage::Body, Some(l)) if l.until_ns == u64::MAX => Some(Rest::Rounds(l.left)),
        (Stage::Body, Some(l)) => Some(Rest::Until(l.until_ns)),
        (Stage::Join, _) | (Stage::Body, None) if t.activity == Activity::Asleep => Some(Rest::Nothing),
        _ => None,
    }
}

impl Engine<'_> {
    /// A sample was taken. Looks whether the run has settled, and leaves out its rest if so.
    pub(crate) fn look_whether_settled(&mut self) {
        let now_ns = self.sim.now_ns;
        let settling = &self.sim.record.settling;
        if settling.over || now_ns < settling.next_look_ns {
            return;
        }
        if !self.all_are_looping() {
            let settling = &mut self.sim.record.settling;
            (settling.since_ns, settling.measured) = (None, None);
            return;
        }
        let since_ns = *self.sim.record.settling.since_ns.get_or_insert(now_ns);
        let Some(quarter_ns) = quarter_ns(since_ns, now_ns) else { return };
        match self.sim.record.settling.measured.take() {
            None => self.begin_measurement(since_ns, quarter_ns),
            Some(before) => self.leave_out_the_rest(&before),
        }
    }

    /// Tasks of processes that keep the run alive.
    fn own_tasks(&self) -> impl Iterator<Item = (usize, &Task<'_>)> {
        let own = self.sim.workload.processes.len() - self.sim.cfg.background;
        self.sim.tasks.iter().enumerate().filter(move |(_, t)| (t.process as usize) < own)
    }

    /// Whether all processes have started and every thread is in its outermost loop, or waits for those that are.
    fn all_are_looping(&self) -> bool {
        let started = self.own_tasks().map(|(_, t)| t.process).collect::<std::collections::BTreeSet<_>>().len();
        let own = self.sim.workload.processes.len() - self.sim.cfg.background;
        let some = self.own_tasks().any(|(_, t)| !matches!(rest(t), Some(Rest::Nothing) | None));
        some && started == own
            && self.deferred_clones.0.iter().all(|waiting| waiting.is_empty())
            && self.own_tasks().all(|(_, t)| rest(t).is_some())
    }

    /// If the last two quarters went alike, the next one is measured.
    fn begin_measurement(&mut self, since_ns: u64, quarter_ns: u64) {
        let now_ns = self.sim.now_ns;
        let rest_ns = self.timed_rest_ns().unwrap_or(10 * (now_ns - since_ns));
        if rest_ns < 4 * quarter_ns {
            self.sim.record.settling.over = self.timed_rest_ns().is_some();
            return;
        }
        let samples = &self.sim.record.samples;
        if !is_steady(samples, quarter_ns, rest_ns) {
            self.sim.record.settling.next_look_ns = now_ns + now_ns / LOOK_SHARE;
            return;
        }
        let arrived_ns = arrived_ns(&samples.scores, since_ns, quarter_ns).unwrap_or(now_ns - 2 * quarter_ns);
        let rounds = |t: &Task<'_>| match rest(t) {
            Some(Rest::Rounds(left)) => Some(left),
            _ => None,
        };
        let snapshot = Snapshot {
            at_ns: now_ns,
            arrived_ns,
            sample: samples.pages.time_ns.len() - 1,
            counters: counters(&self.sim),
            reasons: reasons(&self.sim),
            clocks_ns: self.sim.record.score_clocks.iter().map(|c| c.read_ns(now_ns)).collect(),
            rounds: self.sim.tasks.iter().map(rounds).collect(),
        };
        let settling = &mut self.sim.record.settling;
        (settling.measured, settling.next_look_ns) = (Some(snapshot), now_ns + quarter_ns);
    }

    /// The least that is left of a timed loop, ns; `None` without one.
    fn timed_rest_ns(&self) -> Option<u64> {
        let until = |t: &Task<'_>| match rest(t) {
            Some(Rest::Until(ns)) => Some(ns.saturating_sub(self.sim.now_ns)),
            _ => None,
        };
        self.own_tasks().filter_map(|(_, t)| until(t)).min()
    }

    /// The stretch since `before` stands for the rest, if the run was steady in it too.
    fn leave_out_the_rest(&mut self, before: &Snapshot) {
        let measured_ns = self.sim.now_ns - before.at_ns;
        let ns = self.skippable_ns(before, measured_ns);
        if ns.is_none_or(|ns| ns < 2 * measured_ns) {
            self.sim.record.settling.over = ns.is_some();
            self.sim.record.settling.next_look_ns = self.sim.now_ns + self.sim.now_ns / LOOK_SHARE;
            return;
        }
        let ns = ns.unwrap_or(0);
        if !is_steady(&self.sim.record.samples, measured_ns, ns) {
            self.sim.record.settling.next_look_ns = self.sim.now_ns + self.sim.now_ns / LOOK_SHARE;
            return;
        }
        self.shorten_loops(before, measured_ns, ns);
        self.note_skipped(before, measured_ns, ns);
        self.sim.record.settling.over = true;
    }

    /// How much of the run can be left out, ns, so that each loop has about a measured stretch left; `None` if a
    /// counted loop has gone through too few rounds, or rounds that wait for each other have not gone alike.
    fn skippable_ns(&self, before: &Snapshot, measured_ns: u64) -> Option<u64> {
        let mut least = self.timed_rest_ns().map_or(f64::INFINITY, |ns| ns as f64);
        let mut paces = (u64::MAX, 0);
        for (done, left) in self.paces(before)? {
            least = least.min(left as f64 * measured_ns as f64 / done as f64);
            paces = (paces.0.min(done), paces.1.max(done));
        }
        let waits = !self.sim.workload.barrier_widths.is_empty() || self.sim.workload.channels > 0;
        let counted = paces.1 > 0;
        if counted && waits && paces.1 > paces.0 + 1 {
            return None;
        }
        let ns = (least.is_finite().then_some(least)? as u64).saturating_sub(measured_ns);
        // Threads that wait for each other leave out as many rounds each.
        let per_round = measured_ns.checked_div(paces.1).filter(|_| counted && waits);
        Some(per_round.map_or(ns, |per_round| ns / per_round.max(1) * per_round))
    }

    /// Rounds done since `before`, and rounds left, of every counted loop; `None` if one of them has hardly moved.
    fn paces(&self, before: &Snapshot) -> Option<Vec<(u64, u64)>> {
        let mut out = Vec::new();
        for (id, t) in self.own_tasks() {
            if let Some(Rest::Rounds(left)) = rest(t) {
                let done = (*before.rounds.get(id)?)?.checked_sub(left)?;
                match (done, t.activity) {
                    // It waits for the others.
                    (0, Activity::Asleep) => {}
                    (..FEWEST_ROUNDS, _) => return None,
                    _ => out.push((done, left)),
                }
            }
        }
        Some(out)
    }

    /// Lets loops end as if `ns` of the run had passed.
    fn shorten_loops(&mut self, before: &Snapshot, measured_ns: u64, ns: u64) {
        let waits = !self.sim.workload.barrier_widths.is_empty() || self.sim.workload.channels > 0;
        let done = |id: usize, left: u64| before.rounds.get(id).copied().flatten().map_or(0, |was| was - left);
        let own: Vec<usize> = self.own_tasks().map(|(id, _)| id).collect();
        let most = own.iter().filter_map(|&id| self.sim.tasks[id].loops.first().map(|l| done(id, l.left))).max();
        for id in own {
            let Some(l) = self.sim.tasks[id].loops.first_mut() else { continue };
            if l.until_ns == u64::MAX {
                let own = done(id, l.left);
                let pace = if waits && own > 0 { most.unwrap_or(0) } else { own };
                l.left -= ((pace as f64 * ns as f64 / measured_ns as f64) as u64).min(l.left);
            } else {
                l.until_ns -= ns;
            }
        }
    }

    /// Counts what the part of `ns` that is left out would have counted.
    fn note_skipped(&mut self, before: &Snapshot, measured_ns: u64, ns: u64) {
        let times = ns as f64 / measured_ns as f64;
        let samples = &self.sim.record.samples;
        let last = samples.pages.time_ns.len() - 1;
        let grew = |columns: &[Vec<f64>]| -> Vec<f64> {
            columns.iter().map(|v| (v[last] - v[before.sample]) * times).collect()
        };
        let scores = grew(&samples.scores.values);
        let skipped = Skipped {
            arrived_ns: before.arrived_ns,
            at_ns: self.sim.now_ns,
            ns,
            rates: scores.iter().map(|units| units / (ns as f64 / 1e9)).collect(),
            activity: grew(&samples.activity.values),
            cpu_s: grew(&samples.cpu.values),
            counters: Snapshot::growth(&before.counters, &counters(&self.sim), times),
            reasons: Snapshot::growth(&before.reasons, &reasons(&self.sim), times),
        };
        let (now_ns, record) = (self.sim.now_ns, &mut self.sim.record);
        for (score, more) in record.scores.iter_mut().zip(&scores) {
            *score += more;
        }
        for (clock, was_ns) in record.score_clocks.iter_mut().zip(&before.clocks_ns) {
            let ran_ns = clock.read_ns(now_ns).saturating_sub(*was_ns);
            clock.skip((ran_ns as f64 * times) as u64);
        }
        record.settling.skipped = Some(skipped);
    }
}
