//! Checks that need all ops of a workload: barriers and channels on which threads would hang, runs that are too short
//! to tell anything, and runs that cannot end before their limit.

use super::tables::Tables;
use super::{Bound, Op, Process, Workload};
use crate::expr::{Formula, Value};
use crate::spec::SpecError;
use numalab_nouns::record::TOO_SHORT;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Shortest run in which the first scans show, ns. They come 1 s after the start, and then every scan period.
const TELLING_NS: u64 = 5_000_000_000;

/// How often a thread arrives at barriers, takes and posts messages, and how long its timed loops last.
#[derive(Clone, Debug, Default, PartialEq)]
struct Tally {
    barriers: BTreeMap<u32, u64>,
    waits: BTreeMap<u32, u64>,
    /// Messages that are posted for certain; a loop bounded by time runs at least once.
    signals: BTreeMap<u32, u64>,
    /// Whether a loop bounded by time may post more.
    open: bool,
    timed_ns: u64,
}

fn add(map: &mut BTreeMap<u32, u64>, key: u32, n: u64) {
    let slot = map.entry(key).or_default();
    *slot = slot.saturating_add(n);
}

impl Tally {
    /// Adds a list of ops.
    fn read(&mut self, ops: &[Op]) {
        // How often the enclosing loops run the body, and whether one of them is bounded by time.
        let mut loops: Vec<(u64, bool)> = vec![(1, false)];
        for op in ops {
            let (times, timed) = loops.last().copied().unwrap_or((1, false));
            match op {
                Op::LoopStart(Bound::Count(n)) => loops.push((times.saturating_mul(*n), timed)),
                Op::LoopStart(Bound::Time { ns }) => {
                    if !timed {
                        self.timed_ns = self.timed_ns.saturating_add(times.saturating_mul(*ns));
                    }
                    loops.push((times, true));
                }
                Op::LoopEnd => {
                    loops.pop();
                }
                Op::Barrier { id, .. } => add(&mut self.barriers, *id, times),
                Op::Wait { channel } => add(&mut self.waits, *channel, times),
                Op::Signal { channel } => {
                    self.open |= timed;
                    add(&mut self.signals, *channel, times);
                }
                _ => {}
            }
        }
    }
}

/// Arrivals at a barrier so far: the number of threads, and how often the first of them arrives.
struct Arrivals {
    threads: u32,
    times: u64,
    who: String,
}

/// Checks `w`, and fills its barrier widths and warnings.
///
/// # Errors
/// A barrier whose threads arrive unequally often, a channel with more waits than messages, a loop bounded
/// by time that lasts as long as the limit or longer.
pub(super) fn check(w: &mut Workload, tables: &Tables, limit: Option<&Formula>, file: &str) -> Result<(), SpecError> {
    let mut arrivals: Vec<Option<Arrivals>> = tables.barrier_uses.iter().map(|_| None).collect();
    let (mut waits, mut signals) = (BTreeMap::new(), BTreeMap::new());
    let (mut open, mut longest_ns) = (false, 0);
    for p in &w.processes {
        let mut last: Option<(&Arc<[Op]>, Tally)> = None;
        for (i, thread) in p.threads.iter().enumerate() {
            let tally = match &last {
                Some((ops, tally)) if Arc::ptr_eq(ops, &thread.ops) => tally.clone(),
                _ => tally(p, i),
            };
            for (id, times) in &tally.barriers {
                arrive(&mut arrivals[*id as usize], *times, p, i, tables, *id)?;
            }
            tally.waits.iter().for_each(|(c, n)| add(&mut waits, *c, *n));
            tally.signals.iter().for_each(|(c, n)| add(&mut signals, *c, *n));
            open |= tally.open;
            longest_ns = longest_ns.max(tally.timed_ns);
            // The first thread's tally holds the prologue too, so the second must not take it over.
            last = (i > 0).then_some((&thread.ops, tally));
        }
    }
    for (channel, n) in &waits {
        let posted = signals.get(channel).copied().unwrap_or(0);
        if *n > posted && !open {
            let at = &tables.channel_uses[*channel as usize];
            let what = format!("channel `{}`: {n} waits but {posted} signals, so the run would hang", at.value);
            return Err(at.error(what, "as many signals as waits"));
        }
    }
    w.barrier_widths = arrivals.iter().map(|a| a.as_ref().map_or(0, |a| a.threads)).collect();
    // A run that reaches its limit has timed out, even if its loops end at that moment.
    if longest_ns >= w.limit_ns {
        let what = format!("the loops bounded by time last {}, the limit is {}", time(longest_ns), time(w.limit_ns));
        let expected = "a longer `limit` or a shorter run";
        return Err(limit.map_or_else(|| SpecError::plain(file, &what, expected), |l| l.spot().error(&what, expected)));
    }
    if longest_ns > 0 && longest_ns < TELLING_NS {
        w.warnings.push(format!(
            "the loops bounded by time last {}: {TOO_SHORT} (the first scan comes after about 1s, \
             and pages move over several scans); give them {} or more",
            time(longest_ns),
            time(TELLING_NS)
        ));
    }
    Ok(())
}

fn time(ns: u64) -> Value {
    Value::time_ns(ns as f64)
}

/// The tally of thread `i`. Thread 0 runs the prologue as well.
fn tally(p: &Process, i: usize) -> Tally {
    let mut out = Tally::default();
    if i == 0 {
        out.read(&p.prologue);
    }
    out.read(&p.threads[i].ops);
    out
}

fn arrive(
    slot: &mut Option<Arrivals>,
    times: u64,
    p: &Process,
    thread: usize,
    tables: &Tables,
    id: u32,
) -> Result<(), SpecError> {
    match slot {
        None => *slot = Some(Arrivals { threads: 1, times, who: format!("thread {thread} of {}", p.name) }),
        Some(a) if a.times == times => a.threads += 1,
        Some(a) => {
            let at = &tables.barrier_uses[id as usize];
            let what = format!(
                "barrier `{}`: {} arrives {} times, thread {thread} of {} {times} times, so the run would hang",
                at.value, a.who, a.times, p.name
            );
            return Err(at.error(what, "all its threads equally often"));
        }
    }
    Ok(())
}
