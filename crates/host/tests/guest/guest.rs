//! The guest's side: process 1, its scenarios, and the daemon.

use crate::target::{HOT_MIB, WRONG};
use numalab_host::balance::{Daemon, Kernel, Log, Options};
use numalab_host::procfs::numa_maps::{pages_on, Reading};
use numalab_host::procfs::scope::Scope;
use numalab_host::procfs::{node, process, Roots};
use numalab_host::sys;
use std::collections::BTreeSet;
use std::ffi::CString;
use std::process::{Child, Command};
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A scenario: what came out, or why it failed.
type Scenario = fn() -> Result<String, String>;

/// All scenarios, by name.
const SCENARIOS: [(&str, Scenario); 8] = [
    ("wrong-node", wrong_node),
    ("pinned", pinned),
    ("shared-cow", shared_cow),
    ("sigkill", sigkill),
    ("exit-exec-fork", exit_exec_fork),
    ("two-processes", two_processes),
    ("hot-and-idle", hot_and_idle),
    ("hot-and-idle-damon", hot_and_idle_damon),
];

/// Word of the kernel's command line that names the scenarios to run, with commas between them. The kernel puts it into
/// the environment of process 1.
pub const ASKED: &str = "numalab_scenarios";

/// Names of all scenarios.
pub fn names() -> Vec<&'static str> {
    SCENARIOS.iter().map(|s| s.0).collect()
}

/// Runs the scenarios that the command line names, and powers the guest off.
pub fn main() -> ! {
    for (kind, place) in
        [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/run"), ("tmpfs", "/tmp")]
    {
        mount(kind, place);
    }
    let _ = std::fs::write("/proc/sys/kernel/numa_balancing", "0\n");
    println!("GUEST {}", std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim());
    let asked = std::env::var(ASKED).unwrap_or_default();
    for (name, scenario) in SCENARIOS.into_iter().filter(|(name, _)| asked.split(',').any(|a| a == *name)) {
        let begun = Instant::now();
        let result = std::panic::catch_unwind(scenario).unwrap_or_else(|_| Err("panicked".into()));
        let s = begun.elapsed().as_secs_f64();
        match result {
            Ok(detail) => println!("RESULT {name} ok in {s:.0} s: {detail}"),
            Err(why) => println!("RESULT {name} FAILED in {s:.0} s: {why}"),
        }
        let _ = std::fs::remove_file("/run/state.json");
    }
    println!("ALL DONE");
    // SAFETY: the calls end the guest; nothing of this process is needed after.
    unsafe {
        libc::sync();
        libc::reboot(libc::RB_AUTOBOOT);
    }
    std::process::exit(0)
}

fn mount(kind: &str, place: &str) {
    let (kind, place) = (CString::new(kind).unwrap(), CString::new(place).unwrap());
    // SAFETY: all strings are valid for the call, which changes only the name space of this guest.
    unsafe { libc::mount(kind.as_ptr(), place.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) };
}

fn options(args: &[String]) -> Options {
    Options {
        scope: Scope::All,
        every: Duration::from_millis(300),
        rate_bytes_per_s: args[0].parse::<f64>().unwrap() * 1e6,
        cpu_share: 0.5,
        dry_run: false,
        sampler: Some(args.get(1).map_or("procfs", String::as_str).into()),
        state: "/run/state.json".into(),
    }
}

/// What `numalab balance --undo` does: `undo RATE_MB_S`, of which the rate is not read.
pub fn undo(args: &[String]) -> ! {
    let log = Log::new(Box::new(std::io::stdout()), false);
    let left = Daemon::undo_left(Roots::default(), options(args), Box::new(Kernel), log);
    std::process::exit(i32::from(!left.is_ok_and(|n| n > 0)))
}

/// The daemon: `daemon RATE_MB_S [SAMPLER]`, until SIGTERM. Balances everything, with a look every 300 ms.
pub fn daemon(args: &[String]) -> ! {
    let stop = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(libc::SIGTERM, Arc::clone(&stop)).unwrap();
    let log = Log::new(Box::new(std::io::stdout()), false);
    let mut daemon = Daemon::start(Roots::default(), options(args), Box::new(Kernel), log).unwrap_or_else(|why| {
        println!("the daemon did not start: {why:?}");
        std::process::exit(3)
    });
    let ended = daemon.run(&stop, Duration::MAX);
    std::process::exit(i32::from(ended.is_err()))
}

/// A process of this test; dropping it kills it.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Started {
    fn new(words: &[&str]) -> Self {
        Self(Command::new("/proc/self/exe").args(words).spawn().unwrap())
    }
    fn pid(&self) -> u32 {
        self.0.id()
    }
    /// Asks for the end, and says whether it ended well.
    fn end(mut self) -> Result<(), String> {
        sys::terminate(self.pid());
        let status = self.0.wait().map_err(|e| e.to_string())?;
        match status.code() {
            Some(0) => Ok(()),
            Some(WRONG) => Err("its memory was changed".into()),
            _ => Err(format!("a process ended with {status}")),
        }
    }
}

/// Pages of a process's anonymous memory on each node.
fn pages(pid: u32) -> Vec<u64> {
    let ids: Vec<u32> = node::all(&Roots::default()).iter().map(|n| n.id).collect();
    let path = Roots::default().process(pid).join("numa_maps");
    let reading = Reading::open(&path).and_then(|mut r| r.advance(Duration::MAX));
    let mappings = reading.ok().flatten().unwrap_or_default();
    let large: Vec<_> = mappings.into_iter().filter(|m| m.anon > 256).collect();
    pages_on(&large, &ids)
}

/// Nodes on which the busy threads of a process are: those with most CPU time in a short while.
fn nodes_of(pid: u32) -> BTreeSet<u32> {
    let roots = Roots::default();
    let nodes = node::all(&roots);
    let ticks = |tid: u32| process::task_stat(&roots, pid, tid).map_or((0, 0), |s| (s.ticks, s.cpu));
    let before: Vec<(u32, u64)> = process::tasks(&roots, pid).into_iter().map(|t| (t, ticks(t).0)).collect();
    std::thread::sleep(Duration::from_millis(700));
    let busy = before.into_iter().filter(|(t, old)| ticks(*t).0 > old + 10).map(|(t, _)| ticks(t).1);
    busy.filter_map(|cpu| nodes.iter().find(|n| n.cpus.contains(&cpu)).map(|n| n.id)).collect()
}

/// Share of a process's memory on the nodes of its busy threads, in thousandths.
fn local_permille(pid: u32) -> u64 {
    local_on(pid, &nodes_of(pid))
}

/// Share of a process's memory on these nodes, in thousandths.
fn local_on(pid: u32, nodes: &BTreeSet<u32>) -> u64 {
    let pages = pages(pid);
    let all: u64 = pages.iter().sum();
    let local: u64 = nodes.iter().map(|&n| pages[n as usize]).sum();
    local * 1000 / all.max(1)
}

/// Waits until a condition holds, at most three minutes of the guest.
fn comes_true(mut it: impl FnMut() -> bool) -> bool {
    let limit = Instant::now() + Duration::from_secs(180);
    while Instant::now() < limit {
        if it() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    false
}

/// Waits until a target has touched all its memory, and its threads run where they begin.
fn touched(target: &Started, mib: u64) -> Result<(), String> {
    let ready = format!("/tmp/ready-{}", target.pid());
    let touched = || pages(target.pid()).iter().sum::<u64>() >= mib * 256 * 9 / 10;
    match comes_true(|| std::path::Path::new(&ready).exists() && touched()) {
        true => Ok(()),
        false => Err("the target did not touch its memory".into()),
    }
}

fn must(what: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if what {
        Ok(())
    } else {
        Err(why())
    }
}

/// Memory first touched on a wrong node ends at least 95 % local.
fn wrong_node() -> Result<String, String> {
    let target = Started::new(&["target", "24", "0", "2", "1"]);
    touched(&target, 24)?;
    let before = pages(target.pid());
    let local = local_permille(target.pid());
    must(local < 100, || format!("{before:?} is local from the start: {:?}", nodes_of(target.pid())))?;
    let daemon = Started::new(&["daemon", "400"]);
    let well = comes_true(|| local_permille(target.pid()) >= 950);
    let after = pages(target.pid());
    must(well, || format!("{before:?} became {after:?} on {:?}", nodes_of(target.pid())))?;
    daemon.end()?;
    target.end()?;
    Ok(format!("{before:?} became {after:?}"))
}

/// Two processes that share all nodes, with the memory of both on one, end on nodes of their own, each beside its
/// memory.
fn two_processes() -> Result<String, String> {
    let start = || Started::new(&["target", "24", "0", "-", "4"]);
    let (a, b) = (start(), start());
    touched(&a, 24)?;
    touched(&b, 24)?;
    let shared = || nodes_of(a.pid()).intersection(&nodes_of(b.pid())).count();
    must(comes_true(|| shared() > 0), || "they have nodes of their own from the start".into())?;
    let daemon = Started::new(&["daemon", "400"]);
    let apart = || {
        let (on_a, on_b) = (nodes_of(a.pid()), nodes_of(b.pid()));
        let local = local_on(a.pid(), &on_a).min(local_on(b.pid(), &on_b));
        !on_a.is_empty() && !on_b.is_empty() && on_a.is_disjoint(&on_b) && local >= 950
    };
    // Three times in a row: they have come to rest.
    let mut times = 0;
    let well = comes_true(|| {
        times = if apart() { times + 1 } else { 0 };
        times == 3
    });
    let seen = [&a, &b].map(|p| format!("{:?} on nodes {:?}", pages(p.pid()), nodes_of(p.pid())));
    must(well, || seen.join(" and "))?;
    daemon.end()?;
    a.end()?;
    b.end()?;
    Ok(seen.join(" and "))
}

/// A large region that nobody uses is on node 0, and a small one that is written all the time is bound to node 1, where
/// no thread may say so. By residence the large one decides and is moved; where use is sampled, the thread goes to the
/// small one, and the large one stays.
/// At least `stays` percent of it, as a sampler may see more in use than there is.
fn hot_decides(sampler: &str, stays: u64) -> Result<String, String> {
    let target = Started::new(&["target", "96", "0", "2", "1", "hot"]);
    touched(&target, 96)?;
    let before = pages(target.pid());
    must(before[0] > 96 * 250 && before[1] > HOT_MIB * 250, || format!("it begins with {before:?}"))?;
    let daemon = Started::new(&["daemon", "400", sampler]);
    // Twice in a row: it has come to rest.
    let mut times = 0;
    let well = comes_true(|| {
        times = if nodes_of(target.pid()) == BTreeSet::from([1]) { times + 1 } else { 0 };
        times == 2
    });
    let after = pages(target.pid());
    must(well, || format!("{before:?} became {after:?} on {:?}", nodes_of(target.pid())))?;
    must(after[0] * 100 >= before[0] * stays, || format!("unused memory moved: {before:?} became {after:?}"))?;
    daemon.end()?;
    target.end()?;
    let kdamonds = std::fs::read_to_string("/sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds").unwrap_or_default();
    must(matches!(kdamonds.trim(), "" | "0"), || format!("{kdamonds} kdamonds are left"))?;
    Ok(format!("its thread went to node 1, and {after:?} pages stayed"))
}

fn hot_and_idle() -> Result<String, String> {
    hot_decides("soft-dirty", 95)
}

/// Killed in between, so that a restart has kdamonds to remove. Kernels without DAMON for processes say so.
fn hot_and_idle_damon() -> Result<String, String> {
    if !std::path::Path::new("/sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds").exists() {
        return Ok("not tried: this kernel has no DAMON".into());
    }
    let target = Started::new(&["target", "24", "0", "0", "1"]);
    touched(&target, 24)?;
    let mut daemon = Started::new(&["daemon", "400", "damon"]);
    let count = || std::fs::read_to_string("/sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds").unwrap_or_default();
    must(comes_true(|| !matches!(count().trim(), "" | "0")), || "no kdamond was started".into())?;
    std::thread::sleep(Duration::from_secs(1));
    daemon.0.kill().map_err(|e| e.to_string())?;
    daemon.0.wait().map_err(|e| e.to_string())?;
    must(count().trim() != "0", || "the kill removed them".into())?;
    target.end()?;
    hot_decides("damon", 80)
}

/// Number of threads that may not run on all CPUs.
fn pinned_threads(pid: u32) -> usize {
    let cpus: usize = node::all(&Roots::default()).iter().map(|n| n.cpus.len()).sum();
    let tids = process::tasks(&Roots::default(), pid);
    tids.into_iter().filter(|&t| sys::affinity(t).is_ok_and(|a| a.len() < cpus)).count()
}

/// A process that is pinned to another node than its memory is not touched.
fn pinned() -> Result<String, String> {
    let target = Started::new(&["target", "16", "0", "1", "1", "keep"]);
    touched(&target, 16)?;
    let before = pages(target.pid());
    let pinned = pinned_threads(target.pid());
    let daemon = Started::new(&["daemon", "400"]);
    std::thread::sleep(Duration::from_secs(8));
    let after = pages(target.pid());
    must(before[0] > 4000 && after[0] >= before[0], || format!("{before:?} became {after:?}"))?;
    must(pinned_threads(target.pid()) == pinned && pinned > 0, || "its affinity changed".into())?;
    daemon.end()?;
    target.end()?;
    Ok(format!("{after:?} stayed"))
}

/// Pages that a parent and a child share copy-on-write are not moved to and fro.
fn shared_cow() -> Result<String, String> {
    let target = Started::new(&["target", "16", "0", "1", "1", "fork"]);
    touched(&target, 16)?;
    let before = pages(target.pid());
    let moved = || {
        let text = std::fs::read_to_string("/proc/vmstat").unwrap_or_default();
        text.lines().find_map(|l| l.strip_prefix("pgmigrate_success ")?.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    let moved_before = moved();
    let daemon = Started::new(&["daemon", "400"]);
    std::thread::sleep(Duration::from_secs(8));
    let (after, moved) = (pages(target.pid()), moved() - moved_before);
    // Other memory of the program may have grown.
    must(after.iter().zip(&before).all(|(now, old)| now >= old), || format!("{before:?} became {after:?}"))?;
    // The few private pages of both processes may move once.
    must(moved < 1000, || format!("{moved} pages moved of {before:?}"))?;
    daemon.end()?;
    target.end()?;
    Ok(format!("{after:?} stayed, {moved} other pages moved"))
}

/// A daemon that is killed leaves threads pinned; the next one undoes it, and so does `balance --undo`, which the unit
/// runs after every end. A program that has pinned itself keeps its affinity and its memory all the while.
fn sigkill() -> Result<String, String> {
    let own = Started::new(&["target", "16", "0", "1", "1", "keep"]);
    touched(&own, 16)?;
    let (own_pages, own_pinned) = (pages(own.pid()), pinned_threads(own.pid()));
    let mut counts = Vec::new();
    for undoes in ["daemon", "undo"] {
        let target = Started::new(&["target", "16", "0", "2", "1", "bind"]);
        touched(&target, 16)?;
        let mut daemon = Started::new(&["daemon", "400"]);
        must(comes_true(|| pinned_threads(target.pid()) > 0), || {
            format!("no thread was moved: {:?} on {:?}", pages(target.pid()), nodes_of(target.pid()))
        })?;
        daemon.0.kill().map_err(|e| e.to_string())?;
        daemon.0.wait().map_err(|e| e.to_string())?;
        let left = pinned_threads(target.pid());
        must(left > 0, || "the kill undid it".into())?;
        let mut next = Started::new(&[undoes, "400"]);
        must(comes_true(|| pinned_threads(target.pid()) == 0), || format!("{undoes} undid nothing"))?;
        match undoes {
            "daemon" => next.end()?,
            _ => must(next.0.wait().is_ok_and(|s| s.success()), || "--undo failed".into())?,
        }
        must(pinned_threads(target.pid()) == 0, || format!("threads stay pinned after {undoes}"))?;
        target.end()?;
        counts.push(left);
    }
    let (pinned, after) = (pinned_threads(own.pid()), pages(own.pid()));
    must(pinned == own_pinned && pinned > 0, || "the affinity of another program changed".into())?;
    // Memory that it touches later may be added, but none moves.
    must(after.iter().zip(&own_pages).all(|(now, old)| now >= old), || format!("{own_pages:?} became {after:?}"))?;
    own.end()?;
    Ok(format!("{counts:?} threads were pinned, and none is"))
}

/// Targets that fork, execute another program and end while their pages move are unharmed, and so is the daemon.
fn exit_exec_fork() -> Result<String, String> {
    let mut daemon = Started::new(&["daemon", "20"]);
    let mut targets: Vec<Started> =
        (0..3).map(|n: u32| Started::new(&["target", "12", &n.to_string(), "3", "2", "burst"])).collect();
    let limit = Instant::now() + Duration::from_secs(180);
    for target in &mut targets {
        loop {
            if let Some(status) = target.0.try_wait().map_err(|e| e.to_string())? {
                must(status.success(), || format!("a target ended with {status}"))?;
                break;
            }
            must(Instant::now() < limit, || "a target did not end".into())?;
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    must(daemon.0.try_wait().map_err(|e| e.to_string())?.is_none(), || "the daemon has ended".into())?;
    daemon.end()?;
    Ok("all ended well".into())
}
