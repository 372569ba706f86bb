//! DAMON: which regions are accessed, as a kernel thread samples them (Documentation/admin-guide/mm/damon/usage.rst).
//!
//! One kernel thread (kdamond) watches one process. It checks one page of each region now and then, splits regions
//! whose parts differ and merges those that are alike, so its cost does not grow with memory. A scheme that does
//! nothing but count (`stat`) lists the regions with accesses. Only the largest processes are watched; others count by
//! where their memory is. Kdamonds are set up in sysfs, which root may do, and only while nobody else uses DAMON there.
//! They are noted in the daemon's state before they are made, so that a restart removes what a crash has left. It
//! removes only what is in that record and is set up as it says: whatever else is there belongs to others, such as a
//! reclaimer of the system.

use crate::balance::machine::Shape;
use crate::balance::sampling::{Budget, Sampler, Seen, Target, Way};
use crate::balance::state::State;
use crate::balance::usage::{Bits, PAGE_BYTES};
use crate::procfs::{numbers_in, process, read, Roots};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The way that uses DAMON.
pub const WAY: Way =
    Way { name: "damon", sees: "which regions are accessed (DAMON)", only_asked: "", writes: true, open };

/// Largest number of processes that are watched.
const PROCESSES_MAX: usize = 4;
/// Processes with less memory are not watched, pages.
const WORTH_PAGES: u64 = 1024;
/// Regions of all kdamonds together.
const REGIONS_MAX: usize = 400;
/// Checks of every region come at this distance at least, µs, and this many make a count.
const SAMPLE_US: u64 = 100_000;
const SAMPLES: u64 = 4;
/// Time of ten counts, after which regions are trusted: until then they are still being split.
const TRUSTED_AFTER: Duration = Duration::from_micros(10 * SAMPLE_US * SAMPLES);
/// Largest factor by which checks become rarer.
const SLOWEST: u64 = 16;
/// Share of the time between two looks that waiting for kdamonds may take.
const WAIT_SHARE: f64 = 0.25;

fn admin(roots: &Roots) -> PathBuf {
    roots.sys.join("kernel/mm/damon/admin/kdamonds")
}

fn put(path: &Path, text: impl ToString) -> io::Result<()> {
    std::fs::write(path, text.to_string()).map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))
}

fn number(path: &Path) -> Option<u64> {
    read(path).ok()?.trim().parse().ok()
}

/// A process that a kdamond watches.
#[derive(Debug)]
struct Watched {
    pid: u32,
    start: u64,
    /// Since when.
    since: Instant,
    /// Regions with accesses: first address, and the first after. `None` before the first answer that is trusted.
    regions: Option<Vec<(u64, u64)>>,
}

/// Kdamonds.
pub(super) struct Damon {
    roots: Roots,
    budget: Budget,
    watched: Vec<Watched>,
    /// The kdamond that is asked next.
    turn: usize,
    /// Time after which regions are trusted.
    trusted_after: Duration,
    /// Factor by which checks have become rarer.
    slower: u64,
    /// CPU time of all kdamonds at a moment, ticks.
    spent: Option<(Instant, u64)>,
}

fn open(roots: &Roots, _: &Shape, budget: Budget) -> Result<Option<Box<dyn Sampler>>, String> {
    Ok(Some(Box::new(Damon::open(roots, budget, TRUSTED_AFTER)?)))
}

/// Makes one kdamond, and looks at what it can do.
fn try_out(admin: &Path) -> Result<(), String> {
    let make = || {
        put(&admin.join("nr_kdamonds"), 1)?;
        put(&admin.join("0/contexts/nr_contexts"), 1)?;
        put(&admin.join("0/contexts/0/schemes/nr_schemes"), 1)?;
        read(&admin.join("0/contexts/0/avail_operations"))
    };
    let operations = make().map_err(|e: io::Error| format!("{e}; expected root"))?;
    if !operations.split_whitespace().any(|o| o == "vaddr") {
        return Err("DAMON of this kernel cannot watch processes (CONFIG_DAMON_VADDR)".into());
    }
    if !admin.join("0/contexts/0/schemes/0/tried_regions").is_dir() {
        return Err("DAMON of this kernel does not list regions; expected Linux 6.2 or newer".into());
    }
    Ok(())
}

/// What a record of kdamonds says of those that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// None are there, or none are in the record.
    Nothing,
    /// Those that are there are those of the record.
    Own,
    /// So many are there, at least one of which is not as the record says.
    Others(usize),
}

/// Whether the kdamonds that are there are those of a record: as many, each with one of these processes, in their
/// order, as its only target, and set up for sampling.
pub fn left(roots: &Roots, pids: &[u32]) -> Left {
    compare(&admin(roots), pids, is_sampler)
}

/// Stops and removes the kdamonds of an earlier daemon that watched these processes. Others stay.
///
/// # Errors
/// They cannot be stopped or removed.
pub fn remove(roots: &Roots, pids: &[u32]) -> io::Result<Left> {
    let admin = admin(roots);
    remove_if(&admin, pids, is_sampler)
}

fn compare(admin: &Path, pids: &[u32], is_own: fn(&Path, u32) -> bool) -> Left {
    match number(&admin.join("nr_kdamonds")).unwrap_or(0) as usize {
        0 => Left::Nothing,
        _ if pids.is_empty() => Left::Nothing,
        n if n == pids.len() && pids.iter().enumerate().all(|(i, p)| is_own(&admin.join(i.to_string()), *p)) => {
            Left::Own
        }
        n => Left::Others(n),
    }
}

fn remove_if(admin: &Path, pids: &[u32], is_own: fn(&Path, u32) -> bool) -> io::Result<Left> {
    let left = compare(admin, pids, is_own);
    if left == Left::Own {
        for i in 0..pids.len() {
            let state = admin.join(format!("{i}/state"));
            if is_on(&admin.join(i.to_string())) {
                put(&state, "off")?;
            }
        }
        put(&admin.join("nr_kdamonds"), 0)?;
    }
    Ok(left)
}

fn is_on(kdamond: &Path) -> bool {
    read(&kdamond.join("state")).is_ok_and(|s| s.trim() == "on")
}

/// Whether a kdamond watches this process alone, with a scheme that only counts.
fn is_sampler(kdamond: &Path, pid: u32) -> bool {
    let pid = pid.to_string();
    let is = |(file, value): (&str, &str)| read(&kdamond.join(file)).is_ok_and(|text| text.trim() == value);
    [
        ("contexts/nr_contexts", "1"),
        ("contexts/0/operations", "vaddr"),
        ("contexts/0/targets/nr_targets", "1"),
        ("contexts/0/targets/0/pid_target", pid.as_str()),
        ("contexts/0/schemes/nr_schemes", "1"),
        ("contexts/0/schemes/0/action", "stat"),
        ("contexts/0/schemes/0/access_pattern/nr_accesses/min", "1"),
    ]
    .iter()
    .all(|&line| is(line))
}

/// Whether a kdamond is one that this daemon has just made: it has no target yet and does not run, or it is set up.
fn is_begun(kdamond: &Path, pid: u32) -> bool {
    let target = number(&kdamond.join("contexts/0/targets/0/pid_target")).unwrap_or(0);
    let is_ours = target == 0 || target == u64::from(pid);
    (is_ours && !is_on(kdamond)) || is_sampler(kdamond, pid)
}

impl Damon {
    /// Looks whether DAMON can watch processes here. Regions are trusted after a time.
    pub(super) fn open(roots: &Roots, budget: Budget, trusted_after: Duration) -> Result<Self, String> {
        let admin = admin(roots);
        let count = admin.join("nr_kdamonds");
        match number(&count) {
            None => return Err("this kernel has no DAMON (CONFIG_DAMON_SYSFS), or hides it from this user".into()),
            Some(0) => {}
            Some(n) => return Err(format!("{}: somebody else has {n} kdamonds; expected 0", count.display())),
        }
        let tried = try_out(&admin);
        let undone = remove_if(&admin, &[0], is_begun).map_err(|e| e.to_string());
        tried?;
        if undone? != Left::Own {
            return Err(format!("{}: somebody else set up kdamonds at this moment", count.display()));
        }
        Ok(Self { roots: roots.clone(), budget, watched: Vec::new(), turn: 0, trusted_after, slower: 1, spent: None })
    }

    fn dir(&self, i: usize) -> PathBuf {
        admin(&self.roots).join(i.to_string())
    }

    /// Sets up a kdamond for each process, noted in the state before.
    fn start(&mut self, chosen: Vec<(u32, u64)>, state: &mut State) -> io::Result<()> {
        self.stop(state)?;
        if chosen.is_empty() {
            return Ok(());
        }
        let count = admin(&self.roots).join("nr_kdamonds");
        if let Some(n) = number(&count).filter(|n| *n > 0) {
            return Err(io::Error::other(format!("somebody else has {n} kdamonds by now, and they stay")));
        }
        state.set_damon(chosen.iter().map(|c| c.0).collect())?;
        put(&count, chosen.len())?;
        self.watched = chosen
            .into_iter()
            .map(|(pid, start)| Watched { pid, start, since: Instant::now(), regions: None })
            .collect();
        for (i, w) in self.watched.iter().enumerate() {
            let dir = self.dir(i);
            put(&dir.join("contexts/nr_contexts"), 1)?;
            let context = dir.join("contexts/0");
            put(&context.join("operations"), "vaddr")?;
            put(&context.join("targets/nr_targets"), 1)?;
            put(&context.join("targets/0/pid_target"), w.pid)?;
            let regions = context.join("monitoring_attrs/nr_regions");
            put(&regions.join("max"), (REGIONS_MAX / self.watched.len()).max(20))?;
            put(&regions.join("min"), 10)?;
            self.set_intervals(&context)?;
            put(&context.join("schemes/nr_schemes"), 1)?;
            let scheme = context.join("schemes/0");
            put(&scheme.join("action"), "stat")?;
            let pattern = scheme.join("access_pattern");
            let limits =
                [("sz", 0, u64::MAX), ("nr_accesses", 1, u64::from(u32::MAX)), ("age", 0, u64::from(u32::MAX))];
            for (what, min, max) in limits {
                put(&pattern.join(what).join("max"), max)?;
                put(&pattern.join(what).join("min"), min)?;
            }
            put(&dir.join("state"), "on")?;
        }
        Ok(())
    }

    fn set_intervals(&self, context: &Path) -> io::Result<()> {
        let intervals = context.join("monitoring_attrs/intervals");
        let sample = SAMPLE_US * self.slower;
        // The kernel refuses a count that is shorter than a check, so the longer one is written first.
        put(&intervals.join("update_us"), sample * SAMPLES * 4)?;
        put(&intervals.join("aggr_us"), sample * SAMPLES)?;
        put(&intervals.join("sample_us"), sample)
    }

    /// Stops and removes all kdamonds.
    fn stop(&mut self, state: &mut State) -> io::Result<()> {
        if !self.watched.is_empty() {
            let pids: Vec<u32> = self.watched.iter().map(|w| w.pid).collect();
            let left = remove_if(&admin(&self.roots), &pids, is_begun)?;
            self.watched.clear();
            state.set_damon(Vec::new())?;
            if let Left::Others(n) = left {
                return Err(io::Error::other(format!("somebody else has {n} kdamonds by now, and they stay")));
            }
        }
        (self.turn, self.spent) = (0, None);
        Ok(())
    }

    /// Asks one kdamond for its regions.
    fn ask(&mut self, i: usize) -> io::Result<()> {
        let dir = self.dir(i);
        put(&dir.join("state"), "update_schemes_tried_regions")?;
        let tried = dir.join("contexts/0/schemes/0/tried_regions");
        let region = |n: u32| {
            let at = tried.join(n.to_string());
            Some((number(&at.join("start"))?, number(&at.join("end"))?))
        };
        let mut regions: Vec<(u64, u64)> = numbers_in(&tried).into_iter().filter_map(region).collect();
        regions.sort_unstable();
        let w = &mut self.watched[i];
        if w.since.elapsed() >= self.trusted_after {
            w.regions = Some(regions);
        }
        Ok(())
    }

    /// Makes checks rarer if kdamonds take more than their share.
    fn keep_to_budget(&mut self) -> io::Result<()> {
        let ticks = |i: usize| {
            let pid = number(&self.dir(i).join("pid")).and_then(|p| u32::try_from(p).ok())?;
            process::stat(&self.roots, pid).map(|s| s.ticks)
        };
        let now = (Instant::now(), (0..self.watched.len()).filter_map(ticks).sum::<u64>());
        let Some((then, old)) = self.spent.replace(now) else { return Ok(()) };
        let passed = now.0.saturating_duration_since(then).as_secs_f64();
        let used = now.1.saturating_sub(old) as f64 / process::TICKS_PER_S as f64;
        if used > passed * self.budget.cpu_share && used > 0.02 && self.slower < SLOWEST {
            self.slower *= 2;
            for i in 0..self.watched.len() {
                self.set_intervals(&self.dir(i).join("contexts/0"))?;
                put(&self.dir(i).join("state"), "commit")?;
            }
        }
        Ok(())
    }

    fn refresh(&mut self, targets: &[Target], state: &mut State) -> io::Result<()> {
        let mut largest: Vec<&Target> = targets.iter().filter(|t| t.pages >= WORTH_PAGES).collect();
        largest.sort_by_key(|t| (std::cmp::Reverse(t.pages), t.pid));
        // A process that is watched stays so while it is among twice as many, lest two of a size take turns.
        let is = |w: &Watched, t: &Target| (w.pid, w.start) == (t.pid, t.start);
        let stays = |w: &Watched| largest.iter().take(2 * PROCESSES_MAX).any(|t| is(w, t));
        let wanted = largest.len().min(PROCESSES_MAX);
        if self.watched.len() != wanted || !self.watched.iter().all(stays) {
            let chosen = largest.iter().take(PROCESSES_MAX).map(|t| (t.pid, t.start)).collect();
            // Answers come from the next look on.
            return self.start(chosen, state);
        }
        let until = Instant::now() + self.budget.every.mul_f64(WAIT_SHARE);
        for _ in 0..self.watched.len() {
            self.ask(self.turn)?;
            self.turn = (self.turn + 1) % self.watched.len();
            if Instant::now() >= until {
                break;
            }
        }
        self.keep_to_budget()
    }
}

impl Sampler for Damon {
    fn prepare(&mut self, targets: &[Target], state: &mut State) -> Vec<String> {
        match self.refresh(targets, state) {
            Ok(()) => Vec::new(),
            Err(e) => {
                // A process that ended takes its kdamond along: all are set up anew at the next look.
                let gone = self.watched.iter().any(|w| !self.roots.process(w.pid).exists());
                let stopped = self.stop(state);
                let notes = [stopped.err(), (!gone).then_some(e)];
                notes.into_iter().flatten().map(|e| format!("DAMON: {e}")).collect()
            }
        }
    }

    fn begin(&mut self, _: &Target) -> io::Result<()> {
        Ok(())
    }

    fn seen(&mut self, target: &Target, (start, end): (u64, u64)) -> io::Result<Option<Seen>> {
        let Some(w) = self.watched.iter().find(|w| (w.pid, w.start) == (target.pid, target.start)) else {
            return Ok((target.pages < WORTH_PAGES || !self.watched.is_empty()).then(|| all_used(start, end)));
        };
        let Some(regions) = &w.regions else { return Ok(None) };
        let mut pages = Bits::default();
        let first = regions.partition_point(|r| r.1 <= start);
        for region in regions[first..].iter().take_while(|r| r.0 < end) {
            let page = |at: u64| ((at.clamp(start, end) - start) / PAGE_BYTES) as usize;
            (page(region.0)..page(region.1)).for_each(|p| pages.set(p));
        }
        Ok(Some(Seen { pages, user: None }))
    }

    fn end(&mut self, state: &mut State) {
        // What cannot be removed is in the state, and is removed at the next start.
        let _ = self.stop(state);
    }
}

/// A process that is not watched: all its pages count.
fn all_used(start: u64, end: u64) -> Seen {
    Seen { pages: Bits::first(((end - start) / PAGE_BYTES) as usize), user: None }
}
