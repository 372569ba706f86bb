//! Look, decide, act; and undo at the end.

use super::hands::Hands;
use super::log::{Line, Log};
use super::machine::Shape;
use super::metrics::Metrics;
use super::movers::{Any, Chooser, Cursors, Wish};
use super::sampler::damon::{self, Left};
use super::sampler::{choose, Budget, Target, Ways, LIST};
use super::state::{lives, Entry, State};
use super::summary::{self, Looks};
use super::survey::Survey;
use super::usage::Usage;
use super::walk::Walk;
use crate::procfs::scope::Scope;
use crate::procfs::{numa_balancing, process, Roots};
use crate::record::cpu_time;
use numalab_kernel::userspace_balance::{Action, Balancer, Decision, Hold, Look, Settings, Verdict};
use numalab_model::machine::cpulist;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What the daemon may do.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Which processes it balances.
    pub scope: Scope,
    /// Time between two looks.
    pub every: Duration,
    /// Largest rate at which pages move, bytes per second.
    pub rate_bytes_per_s: f64,
    /// Largest share of one CPU that it takes, from 0 to 1.
    pub cpu_share: f64,
    /// Say what would be done, and do nothing.
    pub dry_run: bool,
    /// Sampler to use, by name; the best that works here if `None`.
    pub sampler: Option<String>,
    /// File for the affinities that are changed.
    pub state: PathBuf,
}

/// Why there is nothing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// The machine cannot be balanced: it has one node, or its nodes cannot be read.
    Machine(String),
    /// The state cannot be used.
    State(String),
    /// The kernel balances already.
    KernelBalances(String),
    /// The sampler that was asked for does not work here.
    Sampler(String),
}

/// Pages of a mapping from which on the log says that they are left alone.
const WORTH_A_LINE: u64 = 256;
/// Looks for which a mapping is left alone after the kernel has refused most of its pages.
const REFUSED_LOOKS: u32 = 60;

/// Pages in use, of which moves are chosen.
struct InUse<'a> {
    usage: &'a mut Usage,
    /// Nodes in the order of the machine.
    nodes: (usize, usize),
}

impl Chooser for InUse<'_> {
    fn next(&self, wish: &Wish, at: u64) -> u64 {
        self.usage.next(wish.pid, wish.range, at, self.nodes.1)
    }
    fn moved(&mut self, wish: &Wish, page: u64) {
        self.usage.moved(wish.pid, wish.range, page, self.nodes);
    }
}

/// Balances a scope: one look after the other until it is stopped.
pub struct Daemon {
    roots: Roots,
    set: Options,
    shape: Shape,
    hands: Box<dyn Hands>,
    log: Log,
    state: State,
    survey: Survey,
    /// Samples which memory is in use; `None` if all of it counts.
    walk: Option<Walk>,
    balancer: Balancer,
    cursors: Cursors,
    metrics: Arc<Mutex<Metrics>>,
    /// What was said to be left alone.
    said: BTreeSet<(u64, Option<u64>, Hold)>,
    /// Mappings of which the kernel has refused most pages, and for how many looks they are left alone.
    refused: BTreeMap<(u64, u64), u32>,
    /// Mode of the kernel's balancing that was said to stand in the way.
    paused: u32,
    looked: Option<Instant>,
}

impl Daemon {
    /// Reads the machine, opens the state, and undoes what an earlier daemon left behind. A dry run says what it would
    /// undo, and opens nothing for writing.
    ///
    /// # Errors
    /// There is nothing to balance here, or no place for the state.
    pub fn start(roots: Roots, set: Options, hands: Box<dyn Hands>, log: Log) -> Result<Self, Halt> {
        let mut daemon = Self::after_undo(roots, set, hands, log)?;
        if daemon.shape.topo.cpu_nodes().len() < 2 {
            return Err(Halt::Machine("this machine has one node with CPUs: there is nothing to balance".into()));
        }
        match numa_balancing::mode(&daemon.roots.proc) {
            Some(mode) if mode > 0 && !daemon.set.dry_run => Err(Halt::KernelBalances(format!(
                "kernel.numa_balancing is {mode}: the kernel balances already, and two would undo each other's work; \
                 expected 0 (`sysctl kernel.numa_balancing=0`), or --dry-run"
            ))),
            _ => daemon.choose_sampler().map_err(Halt::Sampler).map(|()| daemon),
        }
    }

    /// Undoes what an earlier daemon left behind, and does nothing else. A dry run says what it would undo. Returns how
    /// many threads and kdamonds were left.
    ///
    /// # Errors
    /// As of [`Daemon::start`]; another daemon uses the state.
    pub fn undo_left(roots: Roots, set: Options, hands: Box<dyn Hands>, log: Log) -> Result<usize, Halt> {
        let left = State::look(&set.state).map_err(Halt::State)?;
        let left = left.entries().len() + left.damon().len();
        if left > 0 {
            Self::after_undo(roots, set, hands, log)?;
        }
        Ok(left)
    }

    /// A daemon that has undone what an earlier one left behind, and has done nothing else.
    fn after_undo(roots: Roots, set: Options, hands: Box<dyn Hands>, mut log: Log) -> Result<Self, Halt> {
        let shape = Shape::read(&roots).map_err(Halt::Machine)?;
        let opened = if set.dry_run { State::look(&set.state) } else { State::open(&set.state) };
        let state = opened.map_err(Halt::State)?;
        let survey = Survey::new(roots.clone(), set.scope.clone());
        let balancer = Balancer::new(shape.topo.clone(), shape.llc_cpus.clone(), Settings::default());
        if !state.entries().is_empty() {
            log.line(&Line::note(format!("{} threads were left pinned by an earlier daemon", state.entries().len())));
        }
        let left = state.damon().to_vec();
        let mut daemon = Self {
            roots,
            set,
            shape,
            hands,
            log,
            state,
            survey,
            walk: None,
            balancer,
            cursors: Cursors::default(),
            metrics: Arc::default(),
            said: BTreeSet::new(),
            refused: BTreeMap::new(),
            paused: 0,
            looked: None,
        };
        let reason = "an earlier daemon ended without doing so";
        if daemon.set.dry_run {
            daemon.say_undo(reason);
        } else {
            daemon.undo(reason);
        }
        daemon.remove_kdamonds(&left);
        Ok(daemon)
    }

    /// Chooses how to find out which memory is in use, and says so.
    fn choose_sampler(&mut self) -> Result<(), String> {
        // Half of the CPU time is for what sampling costs outside this process.
        let budget = Budget { every: self.set.every, cpu_share: self.set.cpu_share / 2.0 };
        let asked = self.set.sampler.as_deref();
        let ways = Ways { list: &LIST, asked, dry_run: self.set.dry_run };
        let choice = choose(&ways, &self.roots, &self.shape, budget)?;
        let line = |name: &str, used, reason: &str| Line::Sampler { name: name.into(), used, reason: reason.into() };
        self.log.line(&line(choice.name, true, choice.sees));
        for (name, why) in &choice.others {
            self.log.line(&line(name, false, why));
        }
        self.walk = choice.sampler.map(Walk::new);
        Ok(())
    }

    /// The counters.
    pub fn metrics(&self) -> Arc<Mutex<Metrics>> {
        Arc::clone(&self.metrics)
    }

    /// Looks until `stop` is set, `longest` has passed or the scope cannot be read, and undoes all affinities then.
    ///
    /// # Errors
    /// The scope's control group cannot be read.
    pub fn run(&mut self, stop: &AtomicBool, longest: Duration) -> Result<(), String> {
        let begun = Instant::now();
        let (every, cpu_share, dry_run) = (self.set.every, self.own_share(), self.set.dry_run);
        let mut looks = Looks { every, cpu_share, dry_run, ..Looks::default() };
        let ended = loop {
            let (look, begun_cpu) = (Instant::now(), cpu_time());
            if let Err(e) = self.look() {
                break Err(e);
            }
            // A look that was dear is followed by a longer pause.
            let cost = cpu_time().saturating_sub(begun_cpu);
            let pause = self.set.every.max(cost.div_f64(self.own_share())).saturating_sub(look.elapsed());
            looks.dearest = looks.dearest.max(cost);
            let due = Instant::now() + pause;
            let until = Instant::now() + pause.min(longest.saturating_sub(begun.elapsed()));
            while Instant::now() < until && !stop.load(Ordering::Relaxed) {
                std::thread::sleep(until.saturating_duration_since(Instant::now()).min(Duration::from_millis(50)));
            }
            if stop.load(Ordering::Relaxed) || begun.elapsed() >= longest {
                looks.next_in = due.saturating_duration_since(Instant::now());
                break Ok(());
            }
        };
        looks.lasted = begun.elapsed();
        let told = self.metrics.lock().map(|m| summary::text(&looks, &m)).ok();
        told.into_iter().for_each(|text| self.log.line(&Line::note(text)));
        self.end("the daemon ends");
        ended
    }

    /// Share of one CPU for this process. Half of it all is for what sampling costs in the kernel.
    fn own_share(&self) -> f64 {
        let parts = if self.walk.is_some() { 2.0 } else { 1.0 };
        (self.set.cpu_share / parts).max(1e-3)
    }

    /// One look, and what follows from it.
    ///
    /// # Errors
    /// The scope's control group cannot be read.
    pub fn look(&mut self) -> Result<Verdict, String> {
        let now = Instant::now();
        let interval = self.looked.map_or(self.set.every, |l| now.saturating_duration_since(l));
        self.look_after(interval.max(Duration::from_millis(1)))
    }

    /// One look, `interval` after the last one.
    pub(super) fn look_after(&mut self, interval: Duration) -> Result<Verdict, String> {
        self.looked = Some(Instant::now());
        self.follow_machine()?;
        let roots = self.roots.clone();
        self.state.forget(&roots, |_| false).map_err(|e| self.state_error(&e))?;
        let mode = numa_balancing::mode(&self.roots.proc).unwrap_or(0);
        let mut look = self.survey.look(&self.shape, &self.state, interval)?;
        for entry in std::mem::take(&mut self.survey.inherited) {
            self.state.add(entry).map_err(|e| self.state_error(&e))?;
        }
        self.hold_refused(&mut look);
        if mode == 0 || self.set.dry_run {
            self.sample(&mut look);
        }
        look.budget_pages = (self.set.rate_bytes_per_s * interval.as_secs_f64() / 4096.0) as u64;
        let verdict = self.balancer.decide(&look);
        self.say_left(&verdict);
        if mode > 0 && !self.set.dry_run {
            self.pause(mode);
        } else {
            self.paused = 0;
            // The look itself is paid for by the pause that follows it: a dear one must not leave nothing for moves.
            let begun_cpu = cpu_time();
            let limit = self.set.every.mul_f64(self.set.cpu_share.max(1e-3));
            for decision in &verdict.decisions {
                self.carry_out(decision, &mut || cpu_time().saturating_sub(begun_cpu) < limit)?;
            }
        }
        let known = &self.survey.known;
        self.cursors.forget(|pid| known.contains_key(&pid));
        self.count(&verdict, mode, cpu_time());
        Ok(verdict)
    }

    /// Begins anew if nodes or CPUs went offline or came online: decisions count nodes, so nothing older holds.
    fn follow_machine(&mut self) -> Result<(), String> {
        if self.shape.is_current(&self.roots) {
            return Ok(());
        }
        let shape = Shape::read(&self.roots)?;
        if (&shape.ids, &shape.cpus) == (&self.shape.ids, &self.shape.cpus) {
            return Ok(());
        }
        self.log.line(&Line::note("nodes or CPUs went offline or came online: everything begins anew"));
        self.end("the machine has changed");
        self.shape = shape;
        if self.shape.topo.cpu_nodes().len() < 2 {
            return Err("this machine has one node with CPUs now: there is nothing to balance any more".into());
        }
        self.survey = Survey::new(self.roots.clone(), self.set.scope.clone());
        self.balancer = Balancer::new(self.shape.topo.clone(), self.shape.llc_cpus.clone(), Settings::default());
        self.cursors = Cursors::default();
        self.refused.clear();
        self.walk = None;
        self.choose_sampler()
    }

    /// Finds out which memory is in use, with half of this process's CPU time, and puts it into the look.
    fn sample(&mut self, look: &mut Look) {
        let share = self.own_share();
        let Some(walk) = &mut self.walk else { return };
        let known = &self.survey.known;
        let mut targets = Vec::new();
        for (&pid, k) in known.iter().filter(|(_, k)| !k.ranges.is_empty()) {
            let own = look.mappings.iter().filter(|m| m.group == u64::from(pid));
            let pages = own.flat_map(|m| &m.pages).fold(0, |a: u64, p| a.saturating_add(*p));
            let ranges = k.ranges.iter().map(|(start, end)| (*start, *end)).collect();
            targets.push(Target { pid, start: k.start, ranges, pages });
        }
        let begun = cpu_time();
        let limit = self.set.every.mul_f64(share / 2.0);
        let mut goes_on = || cpu_time().saturating_sub(begun) < limit;
        for note in walk.look(&targets, &self.shape, self.hands.as_mut(), &mut self.state, &mut goes_on) {
            self.log.line(&Line::note(note));
        }
        let end = |pid: u32, start: u64| known.get(&pid)?.ranges.get(&start).copied();
        walk.tell(look, self.shape.ids.len(), end);
    }

    /// Removes kdamonds that an earlier daemon has left, and forgets the record of them. Those of others stay.
    fn remove_kdamonds(&mut self, pids: &[u32]) {
        let (dry_run, n) = (self.set.dry_run, pids.len());
        let found = if dry_run { Ok(damon::left(&self.roots, pids)) } else { damon::remove(&self.roots, pids) };
        let text = match found {
            Ok(Left::Nothing) => None,
            Ok(Left::Own) if dry_run => Some(format!("would remove {n} kdamonds that an earlier daemon left")),
            Ok(Left::Own) => Some(format!("removed {n} kdamonds that an earlier daemon left")),
            Ok(Left::Others(there)) => Some(format!(
                "the record of an earlier daemon has {n} kdamonds, but the {there} here are set up otherwise: they stay, \
                 and the record of them {} dropped",
                if dry_run { "would be" } else { "is" }
            )),
            // They stay in the record, so that a later start can remove them.
            Err(e) => return self.log.line(&Line::note(format!("kdamonds of an earlier daemon: {e}"))),
        };
        let text = text.or(self.state.set_damon(Vec::new()).err().map(|e| self.state_error(&e)));
        text.into_iter().for_each(|t| self.log.line(&Line::note(t)));
    }

    /// Stops sampling, and undoes all affinities.
    pub fn end(&mut self, reason: &str) {
        if let Some(walk) = &mut self.walk {
            walk.end(&mut self.state);
        }
        if !self.set.dry_run {
            self.undo(reason);
        }
    }

    /// Marks mappings of which the kernel has refused most pages as shared, and lets the time pass for which that
    /// holds.
    fn hold_refused(&mut self, look: &mut Look) {
        self.refused.retain(|_, looks| {
            *looks -= 1;
            *looks > 0
        });
        for m in look.mappings.iter_mut().filter(|m| self.refused.contains_key(&(m.group, m.start))) {
            m.hold.get_or_insert(Hold::SharedCow);
        }
    }

    fn state_error(&self, e: &std::io::Error) -> String {
        format!("{}: {e}; expected to be allowed to write it, as no thread is moved without", self.set.state.display())
    }

    /// Says once that the kernel has begun to balance.
    fn pause(&mut self, mode: u32) {
        if self.paused != mode {
            self.paused = mode;
            self.log.line(&Line::note(format!(
                "kernel.numa_balancing has become {mode}: the kernel balances, and nothing is done until it is 0"
            )));
            self.end("the kernel balances");
        }
    }

    fn name(&self, group: u64) -> String {
        self.survey.known.get(&(group as u32)).map(|k| k.name.clone()).unwrap_or_default()
    }

    fn carry_out(&mut self, decision: &Decision, goes_on: &mut dyn FnMut() -> bool) -> Result<(), String> {
        let reason = decision.reason.to_string();
        match decision.action {
            Action::MoveTask { task, group, from, to } => self.move_task((group as u32, task as u32), from, to, reason),
            Action::KeepTask { task, group, node } => self.move_task((group as u32, task as u32), node, node, reason),
            Action::MovePages { group, start, from, to, pages } => {
                self.move_pages(group as u32, start, (from, to), pages, reason, goes_on);
                Ok(())
            }
        }
    }

    fn move_task(&mut self, (pid, tid): (u32, u32), from: usize, to: usize, reason: String) -> Result<(), String> {
        let line = |dry_run| Line::MoveTask {
            pid,
            name: self.name(u64::from(pid)),
            tid,
            from: self.shape.ids[from],
            to: self.shape.ids[to],
            reason: reason.clone(),
            dry_run,
        };
        if self.set.dry_run {
            let line = line(true);
            self.log.line(&line);
            return Ok(());
        }
        let (Some(stat), Some(status)) =
            (process::task_stat(&self.roots, pid, tid), process::task_status(&self.roots, pid, tid))
        else {
            return Ok(());
        };
        let before = self.state.of(tid).map_or(status.cpus_allowed, |e| e.before.clone());
        let mut set = self.shape.cpus[to].clone();
        set.retain(|c| before.contains(c));
        if set.is_empty() {
            return Ok(());
        }
        let done = line(false);
        let entry = Entry { pid, tid, start: stat.start, before, set: set.clone() };
        self.state.add(entry).map_err(|e| self.state_error(&e))?;
        match self.hands.set_affinity(tid, &set) {
            Ok(()) => {
                self.log.line(&done);
                if let (true, Ok(mut m)) = (from != to, self.metrics.lock()) {
                    *m.tasks_moved.entry((self.shape.ids[from], self.shape.ids[to])).or_default() += 1;
                }
            }
            Err(e) => self.log.line(&Line::note(format!("thread {tid} of process {pid} was not moved: {e}"))),
        }
        Ok(())
    }

    fn move_pages(
        &mut self,
        pid: u32,
        start: u64,
        (from, to): (usize, usize),
        pages: u64,
        reason: String,
        goes_on: &mut dyn FnMut() -> bool,
    ) {
        let Some(known) = self.survey.known.get(&pid) else { return };
        let (name, began) = (known.name.clone(), known.start);
        let Some(&end) = known.ranges.get(&start) else { return };
        let nodes = (from, to);
        let (from, to) = (self.shape.ids[from], self.shape.ids[to]);
        let mapping = format!("{start:x}");
        let line = |moved, refused, dry_run| Line::MovePages {
            pid,
            name: name.clone(),
            mapping: mapping.clone(),
            from,
            to,
            asked: pages,
            moved,
            refused,
            reason: reason.clone(),
            dry_run,
        };
        if self.set.dry_run {
            return self.log.line(&line(0, 0, true));
        }
        let roots = self.roots.clone();
        // An id can pass to another process between two batches.
        let mut same = || process::stat(&roots, pid).is_some_and(|s| s.start == began) && goes_on();
        let wish = Wish { pid, range: (start, end), from, to, pages };
        let by_use = self.walk.as_ref().is_some_and(|w| w.counts_use(pid));
        let mut used = self.walk.as_mut().map(|w| InUse { usage: &mut w.usage, nodes });
        let chooser: &mut dyn Chooser = match &mut used {
            Some(used) if by_use => used,
            _ => &mut Any,
        };
        match self.cursors.carry_out(self.hands.as_mut(), chooser, &wish, &mut same) {
            Ok(done) => {
                if let Ok(mut m) = self.metrics.lock() {
                    *m.pages_moved.entry((from, to)).or_default() += done.moved;
                    m.pages_refused += done.refused;
                }
                if done.refused > done.moved {
                    self.refused.insert((u64::from(pid), start), REFUSED_LOOKS);
                }
                if done.moved + done.refused > 0 {
                    self.log.line(&line(done.moved, done.refused, false));
                }
            }
            // ESRCH: it has ended.
            Err(e) if e.raw_os_error() == Some(libc::ESRCH) => {}
            Err(e) => self.log.line(&Line::note(format!("pages of {name}[{pid}] were not moved: {e}"))),
        }
    }

    /// Says what is left alone, each once.
    fn say_left(&mut self, verdict: &Verdict) {
        for left in &verdict.left {
            let small = left.start.is_some() && left.count < WORTH_A_LINE;
            if small || !self.said.insert((left.group, left.start, left.hold)) {
                continue;
            }
            let line = Line::Left {
                pid: left.group as u32,
                name: self.name(left.group),
                mapping: left.start.map(|s| format!("{s:x}")),
                count: left.count,
                reason: left.hold.word().replace('_', " "),
            };
            self.log.line(&line);
        }
        let known = &self.survey.known;
        self.said.retain(|(group, ..)| known.contains_key(&(*group as u32)));
    }

    fn count(&mut self, verdict: &Verdict, mode: u32, cpu: Duration) {
        let Ok(mut m) = self.metrics.lock() else { return };
        m.looks += 1;
        m.left.clear();
        for left in &verdict.left {
            *m.left.entry(left.hold.word().into()).or_default() += left.count;
        }
        m.affinities = self.state.entries().len() as u64;
        m.local_share = verdict.local_permille as f64 / 1000.0;
        m.cpu_s = cpu.as_secs_f64();
        m.kernel_balancing = mode;
    }

    /// Gives back every affinity that was changed, and those that children have inherited. One that somebody else has
    /// changed since stays.
    pub fn undo(&mut self, reason: &str) {
        let entries = self.state.take();
        let mut left = Vec::new();
        for (tid, before) in self.to_undo(&entries) {
            match self.hands.set_affinity(tid, &before) {
                Ok(()) => self.log.line(&undo_line(tid, &before, reason, false)),
                // ESRCH: it has ended.
                Err(e) if e.raw_os_error() == Some(libc::ESRCH) => {}
                Err(e) => {
                    self.log.line(&Line::note(format!("thread {tid} keeps its CPUs until the next start: {e}")));
                    left.extend(entries.iter().find(|e| e.tid == tid).cloned());
                }
            }
        }
        let saved = if left.is_empty() { self.state.save_empty() } else { self.state.keep(left) };
        if let Err(e) = saved {
            self.log.line(&Line::note(format!("{}: {e}", self.set.state.display())));
        }
    }

    /// Says which affinities [`Daemon::undo`] would give back.
    fn say_undo(&mut self, reason: &str) {
        for (tid, before) in self.to_undo(self.state.entries()) {
            self.log.line(&undo_line(tid, &before, reason, true));
        }
    }

    /// Threads that still have the affinity of an entry, with the one from before.
    fn to_undo(&self, entries: &[Entry]) -> Vec<(u32, Vec<u32>)> {
        let mut pids = BTreeSet::new();
        for e in entries.iter().filter(|e| lives(&self.roots, e)) {
            if pids.insert(e.pid) {
                pids.extend(process::with_descendants(&self.roots, e.pid));
            }
        }
        let mut out = Vec::new();
        for pid in pids {
            for tid in process::tasks(&self.roots, pid) {
                let Some(status) = process::task_status(&self.roots, pid, tid) else { continue };
                let own = entries.iter().find(|e| e.tid == tid && lives(&self.roots, e));
                let known = own.or_else(|| entries.iter().find(|e| e.set == status.cpus_allowed));
                let known = known.filter(|e| e.set == status.cpus_allowed);
                out.extend(known.map(|e| (tid, e.before.clone())));
            }
        }
        out
    }
}

fn undo_line(tid: u32, before: &[u32], reason: &str, dry_run: bool) -> Line {
    Line::Undo { tid, cpus: cpulist::format(before), reason: reason.into(), dry_run }
}

#[cfg(test)]
#[path = "vanish_tests.rs"]
mod vanish_tests;
